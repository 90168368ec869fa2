"""Pictures of a terminal (landing page) and a report (compare-models.md), from a run of how-to/subgroups.md.

Run with ``python docs/hooks/screenshots.py docs/assets`` when either looks different; it takes Chromium and its
driver. A test compares the terminal with what the command prints.
"""

from __future__ import annotations

import base64
import contextlib
import doctest
import re
import shutil
import sys
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from rich.console import Console
from rich.text import Text
from selenium import webdriver

from pandora_regret.cli.commands import pandora
from pandora_regret.core.atomic import write_atomically

PAGE = Path(__file__).parents[1] / "how-to/subgroups.md"
MODELS = ["net.csv", "forest.csv", "vendor.csv", "--by", "site"]
PRICES = ["--costs", "flu=40,cold=15,covid=60", "--currency", "EUR"]
SHOWN = (
    "$ pandora compare net.csv forest.csv vendor.csv --by site \\\n"
    '    --costs "flu=40,cold=15,covid=60" --currency EUR\n'
)
WIDTH, HEIGHT, SCALE = (
    1100,
    660,
    1.5,
)  # of the report's first screen; pixels of the picture per pixel of the screen
SESSION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
    font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
    font-size: {char_height}px; line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
    <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""  # rich's own, less the fonts that it would load from elsewhere


def write_predictions() -> None:
    """The files of the page's example, into the current folder."""
    names = {"__name__": "__main__"}
    for session in SESSION.findall(PAGE.read_text(encoding="utf-8")):
        for example in doctest.DocTestParser().get_examples(session):
            with contextlib.redirect_stdout(None):
                exec(compile(example.source, PAGE.name, "exec"), names)


def run(*arguments: str) -> str:
    """What the command prints on a colourful terminal of 80 columns."""
    terminal = {"COLUMNS": "80", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    result = CliRunner().invoke(pandora, arguments, prog_name="pandora", env=terminal, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def draw_terminal(path: Path) -> None:
    """The comparison as a terminal shows it, in letters."""
    console = Console(record=True, width=80, file=StringIO())
    console.print(Text(SHOWN, style="bold"), end="")
    console.print(Text.from_ansi(run("compare", *MODELS, *PRICES)))
    drawn = console.export_svg(title="pandora compare", code_format=FRAME, unique_id="terminal")
    write_atomically(path, lambda file: file.write(drawn.encode()))


def photograph(page: Path, path: Path) -> None:
    """The first screen of a page, as WebP."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in ("headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(page.as_uri())
        shot = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 75})
    finally:
        browser.quit()
    write_atomically(path, lambda file: file.write(base64.b64decode(shot["data"])))


def main(folder: Path) -> None:
    """Both pictures."""
    folder = folder.resolve()
    with TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        write_predictions()
        draw_terminal(folder / "terminal.svg")
        run("compare", *MODELS, *PRICES, "--html", "report.html", "--title", "Respiratory infections")
        photograph(Path("report.html").resolve(), folder / "report.webp")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

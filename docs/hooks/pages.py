"""What mkdocs does besides Markdown.

Formulas become MathML when the site is built, and bring a font of their own: a page needs no script and no network
to show them, and they look the same where no mathematical font is installed. The `pandora` command is asked for
its help. Pictures are told their size, so that no text moves when they come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner
from fontTools import subset
from latex2mathml.converter import convert
from PIL import Image

from pandora_regret.cli.commands import pandora

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)
PICTURE = re.compile(r'<img (?![^>]*\bwidth=)(?=[^>]*\bsrc="([^":]+)")')
SVG_SIZES = (
    r'<svg[^>]*?\bviewBox="\S+ \S+ ([\d.]+) ([\d.]+)"',
    r'<svg[^>]*?\bwidth="([\d.]+)\D.*?\bheight="([\d.]+)',
)
EVERY_COMMAND = "<!-- every command -->"
FONT, FONT_IN_SITE = "fonts/STIXTwoMath-Regular.ttf", "assets/mathematics.woff"
SPELT = {  # what the converter or browsers would not show well
    r"\mathbf{1}": "\N{MATHEMATICAL BOLD DIGIT ONE}",
    r"\sim": "\\;\N{TILDE OPERATOR}\\;",
    r"\ln ": r"\ln\,",
}
GLYPHS = [  # ASCII, Greek, arrows and operators, script and mathematical letters, a bold 1
    *range(0x20, 0x7F), *range(0xA0, 0xF8), *range(0x391, 0x3D0), *range(0x2010, 0x2070), *range(0x2100, 0x2150),
    *range(0x2190, 0x2200), *range(0x2200, 0x2300), *range(0x1D400, 0x1D468), *range(0x1D538, 0x1D56C),
    *range(0x1D6E2, 0x1D71C), 0x1D7CF,
]  # fmt: skip


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Examples with prompts are coloured as sessions, since their output is not Python; commands are listed."""
    markdown = SESSION.sub("```pycon\n", markdown)
    return markdown.replace(EVERY_COMMAND, "\n".join(_helps(pandora))) if EVERY_COMMAND in markdown else markdown


def on_page_content(html: str, **_: Any) -> str:
    """LaTeX that the arithmatex extension found, as MathML."""
    return FORMULA.sub(_as_mathml, html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Every picture with its width and height; what the style sheets say of its width still holds."""
    folder = Path(config.site_dir, page.file.dest_uri).parent

    def with_size(picture: re.Match[str]) -> str:
        width, height = _size((folder / picture[1]).resolve())
        return f'<img width="{width:.0f}" height="{height:.0f}" '

    return PICTURE.sub(with_size, output)


def on_post_build(config: Any, **_: Any) -> None:
    """The letters and signs of STIX Two Math (SIL Open Font License) that formulas are made of."""
    options = subset.Options(flavor="woff", layout_features=["*"])
    [package] = find_spec("ziamath").submodule_search_locations  # found, not imported
    font = subset.load_font(str(Path(package, FONT)), options)
    chosen = subset.Subsetter(options)
    chosen.populate(unicodes=GLYPHS)
    chosen.subset(font)
    subset.save_font(font, str(Path(config.site_dir, FONT_IN_SITE)), options)


def _helps(command: click.Command, *names: str) -> Iterator[str]:
    """A command and those below it, each with what it says of itself."""
    line = " ".join(["pandora", *names])
    said = CliRunner().invoke(pandora, [*names, "--help"], prog_name="pandora", terminal_width=80).output
    yield f"{'#' * (2 + len(names) // 2)} {line}\n\n```console\n$ {line} --help\n{said}```\n"
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _helps(command.get_command(context, name), *names, name)


def _as_mathml(found: re.Match[str]) -> str:
    displayed, latex = found[1] == "div", unescape(found[2]).strip()
    for sign, better in SPELT.items():
        latex = latex.replace(sign, better)
    formula = convert(latex, display="block" if displayed else "inline")
    return f'<div class="formula">{formula}</div>' if displayed else formula


def _size(path: Path) -> tuple[float, float]:
    """Width and height of a picture; of an SVG in units of its own."""
    if path.suffix != ".svg":
        with Image.open(path) as image:
            return image.size
    text = path.read_text(encoding="utf-8")
    found = next(filter(None, (re.search(pattern, text, re.DOTALL) for pattern in SVG_SIZES)))
    return float(found[1]), float(found[2])

"""The pictures of docs/clinicians.md: parts of a real report, and where its numbered marks stand.

Run with ``python examples/report_pictures.py``, with Chromium and its driver installed. The data are those of
docs/tutorials/clinic.ipynb. Pictures go to docs/assets; the page's figures are written anew between their markers.
"""

import io
import json
import os
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from PIL import Image
from selenium import webdriver

from pandora_regret import compare
from pandora_regret.report import write_report

DOCS = Path(__file__).parents[1] / "docs"
PAGE, NOTEBOOK = DOCS / "clinicians.md", DOCS / "tutorials" / "clinic.ipynb"
END = "<!-- end of picture -->"
SHARPNESS, COLOURS, MARGIN, WIDTH = 2, 48, 10, 640  # of the pictures
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
RECTANGLE = """
    const box = document.querySelector(arguments[0]).getBoundingClientRect();
    return [box.x, box.y, box.width, box.height];
"""


class Picture(NamedTuple):
    """A part of the report, from the top of one element to the bottom of another, with marks on elements."""

    name: str
    alt: str
    top: str  # CSS selectors
    bottom: str
    marks: tuple[tuple[str, float, float], ...]  # an element, and where on it: 0 to 1 from the left and the top


PICTURES = (
    Picture(
        "verdict",
        "The first screen of a report. A sentence in large type says what to do; below it one bar per model shows"
        " what a case costs, in three parts, with the total at the right; below that a box for cases per year.",
        "#verdict",
        "#year",
        (
            ("#verdict .verdict", 1.0, 0.5),
            ("#verdict .standfirst", 1.0, 0.5),
            ("#bars li:nth-child(2) rect.unavoidable", 0.1, 0.5),
            ("#bars li:nth-child(2) rect.recal", 0.5, -0.3),
            ("#bars li:nth-child(2) rect.waste", 0.9, 0.5),
            ("#bars li:nth-child(3) .amount", -0.1, 0.4),
            ("#year", 0.98, 0.1),
        ),
    ),
    Picture(
        "prices",
        "A list of tests, each with a slider, a field with its price, and the words: no change.",
        "#prices",
        "#prices li[data-class='2']",
        (("#prices li[data-class='4'] .slide", 0.8, 0.3), ("#prices li[data-class='4'] .flip", 0.25, 0.5)),
    ),
    Picture(
        "groups",
        "A table with one row per clinic and one column per model; a dot and a line in each cell. One row carries"
        " a sentence in red.",
        "section.groups",
        "section.groups tbody tr:last-child",
        (
            ("section.groups tbody tr:nth-child(1) td:nth-child(3)", 0.25, 0.5),
            ("section.groups tbody tr:last-child", 0.95, 0.85),
        ),
    ),
    Picture(
        "wrong-tests",
        "A table of pairs of diagnoses: what was tested, what it really was, and a bar for each model with what"
        " that costs per case.",
        "#wrong-tests",
        "#wrong-test-table tbody tr:nth-child(4)",
        (("#wrong-test-table tbody tr:nth-child(1) th", 0.9, 0.5),),
    ),
    Picture(
        "case",
        "One patient with melanoma: the list of tests that each of two models would make until it is found, and"
        " what that costs.",
        "#case",
        "#case .plans",
        (("#case .plan:nth-child(1) .bill", 0.9, 0.5), ("#case .plan:nth-child(2) li .chance", -0.6, 0.5)),
    ),
)


def write_page(folder: Path) -> Path:
    """The report of the tutorial's patients."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    [simulation] = [cell["source"] for cell in cells if cell["metadata"].get("jupyter", {}).get("source_hidden")]
    names: dict[str, Any] = {}
    exec("".join(simulation), names)  # writes files into the current folder, too
    diagnoses = names["diagnoses"]
    result = compare(
        [diagnoses[k] for k in names["truth"]],
        names["models"],
        labels=diagnoses,
        costs=names["prices"],
        currency="USD",
        by={"clinic": names["clinic"]},
    )
    return write_report(result, folder / "report.html", title="Skin lesions: which model?")


def open_page(page: Path, profile: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.add_argument(f"--force-device-scale-factor={SHARPNESS}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(which("chromedriver")))
    browser.get(page.as_uri())
    return browser


def take(browser: webdriver.Chrome, picture: Picture, first_mark: int) -> str:
    """Save a picture, and give the figure with its marks as the page holds it."""
    browser.set_window_size(WIDTH, 8000)
    screen = Image.open(io.BytesIO(browser.get_screenshot_as_png()))
    _, top, _, _ = browser.execute_script(RECTANGLE, picture.top)
    _, y, _, height = browser.execute_script(RECTANGLE, picture.bottom)
    top, bottom = top - MARGIN, y + height + 2
    part = screen.crop((0, round(top * SHARPNESS), screen.width, round(bottom * SHARPNESS)))
    path = DOCS / "assets" / f"report-{picture.name}.png"
    part.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    marks = []
    for number, (element, right, down) in enumerate(picture.marks, start=first_mark):
        x, y, width, height = browser.execute_script(RECTANGLE, element)
        left, below = (x + right * width) / WIDTH, (y + down * height - top) / (bottom - top)
        place = f"left: {100 * min(left, 0.97):.1f}%; top: {100 * below:.1f}%"
        marks.append(f'<a class="mark" style="{place}" href="#mark-{number}">{number}</a>')
    image = f"![{picture.alt}](assets/{path.name})"
    return f'<figure class="annotated" markdown="span">{image}{"".join(marks)}</figure>'


def main() -> None:
    text = PAGE.read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, TemporaryDirectory() as profile:
        os.chdir(folder)
        browser = open_page(write_page(Path(folder)), profile)
        number = 1
        for picture in PICTURES:
            figure = take(browser, picture, number)
            before, marker, rest = text.partition(f"<!-- picture: {picture.name} -->\n")
            text = before + marker + figure + "\n" + rest[rest.index(END) :]
            number += len(picture.marks)
        browser.quit()
        os.chdir(DOCS)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""The documentation site needs nobody else, and its pages list what there is. (conftest.py runs the pages.)"""

import inspect
import re
import tomllib
import zlib
from html import unescape
from importlib import import_module

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from docs_site import DOCS, PAGES, README, ROOT, blocks_of

import pandora_regret

LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=\"?([^\"\s>]+)")
IMPORT = re.compile(r"from (pandora_regret[\w.]*) import (\w+)$", re.MULTILINE)
MACHINE = re.compile(r"(?<!pandora_regret)/(?:home|work|tmp|Users|opt)/\w")


def text_of(path):
    return path.read_text(encoding="utf-8")


DOCUMENTED = {
    page: re.findall(r"^::: (\S+)$", text_of(path), re.MULTILINE)
    for page, path in PAGES.items()
    if page.startswith("api/")
}


def documented(paths):
    """(path, thing) of names in the API."""
    for path in paths:
        module, _, name = path.rpartition(".")
        yield path, getattr(import_module(module), name)


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(site):
    assert "WARNING" not in site.said.upper()
    for page in site.folder.rglob("*.html"):
        away = [address for address in LOADED.findall(text_of(page)) if re.match(r"(?:\w+:)?//", address)]
        assert not away, f"{page} loads {away}"
    for style in site.folder.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text_of(style)), style


def test_pages_say_nothing_of_where_they_were_written(site):
    for page in (*PAGES.values(), *DOCS.rglob("*.py"), *site.folder.rglob("*.html")):
        assert not MACHINE.search(text_of(page)), page


def test_commands_are_asked_for_their_help_when_the_site_is_built(site):
    from pandora_regret.cli.commands import COMMANDS

    shown = text_of(site.folder / "api/command/index.html")
    for command in COMMANDS:
        assert f"Usage: pandora {command} [OPTIONS]" in shown


def test_every_public_name_has_its_place_in_the_api(site):
    *_, packed = (site.folder / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(packed).decode().splitlines()
    names = {line.split(" ")[0].rpartition(".")[2] for line in lines}
    assert set(pandora_regret.__all__) - names == {"__version__"}


def test_every_function_in_the_api_says_what_it_takes_and_returns():
    paths = [path for paths in DOCUMENTED.values() for path in paths if ".torch." not in path]
    for path, function in documented(paths):
        if not inspect.isfunction(function):
            continue
        signature, docstring = inspect.signature(function), inspect.getdoc(function)
        sections = dict(
            re.findall(r"^(\w+)\n-{3,}\n(.*?)(?=^\w+(?: \w+)*\n---|\Z)", docstring, re.MULTILINE | re.DOTALL)
        )
        listed = re.findall(r"^\S.*$", sections.get("Parameters", ""), re.MULTILINE)
        described = {name.strip("*") for line in listed for name in line.split(", ")}
        assert described == set(signature.parameters), path
        assert "Returns" in sections or signature.return_annotation in (None, "None"), path


def test_the_install_page_says_what_every_extra_brings():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    needs = {"none": project["dependencies"], **project["optional-dependencies"]}
    needs.pop("all")
    table = dict(re.findall(r"^\| `?(\w+)`? \| .* \| (.*) \|$", text_of(PAGES["install.md"]), re.MULTILINE))
    assert table.keys() - needs.keys() == {"Extra", "all"}
    for extra, requirements in needs.items():
        listed = ", ".join(map(on_the_page, requirements))
        assert set(re.split("[,;] ", table[extra])) == set(listed.split(", ")), extra


def on_the_page(requirement):
    """`cli`, `zoo` for pandora-regret[cli,zoo]; click 8.2 for click>=8.2."""
    if others := re.match(r"pandora-regret\[(.+)\]", requirement):
        return ", ".join(f"`{extra}`" for extra in others[1].split(","))
    return re.sub(r"\[.*\]|;.*", "", requirement).replace(">=", " ")


def test_every_public_plot_is_in_the_gallery(site):
    from pandora_regret import plots

    page = text_of(PAGES["gallery.md"])
    for name in plots.__all__:
        assert name in page
        if name.startswith("plot_"):
            assert f"### {name}\n" in page
            assert (site.folder / f"figures/{name}.svg").stat().st_size > 5000


def test_the_picture_of_the_terminal_is_what_the_command_prints():
    """As the README shows it."""
    pieces = re.findall(
        r'clip-path="url\(#terminal-line-(\d+)\)">(.*?)</text>', text_of(DOCS / "assets/terminal.svg")
    )
    lines = dict.fromkeys((number for number, _ in pieces), "")
    for number, text in pieces:
        lines[number] += unescape(text)
    console = next(block for block in blocks_of(README) if block.language == "console")
    drawn, shown = [line.split() for line in lines.values()], [line.split() for line in console.text.splitlines()]
    assert list(filter(None, drawn)) == list(filter(None, shown)), "python docs/hooks/screenshots.py docs/assets"


def test_the_page_about_stability_lists_every_schema_that_is_written():
    source = "".join(text_of(path) for path in (ROOT / "src" / "pandora_regret").rglob("*.py"))
    schema = r"\bpandora-[a-z]+/\d+\b"
    assert set(re.findall(schema, text_of(DOCS / "stability.md"))) == set(re.findall(schema, source))

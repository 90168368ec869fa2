"""The documentation: every block on every page is run, and the site that is built from them needs nobody else."""

import doctest
import inspect
import re
import tomllib
import zlib
from html import unescape
from importlib import import_module

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("mkdocstrings")
pytest.importorskip("material")
pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from docs_site import DOCS, PAGES, ROOT, blocks_of, built_site, commands_of, run_command, write_shown_files

import pandora_regret

LENIENT = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LOADED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=\"?([^\"\s>]+)")
WITH_COMMANDS = [
    name for name, page in PAGES.items() if any(block.language == "console" for block in blocks_of(page))
]


@pytest.fixture(scope="session")
def site():
    return built_site().folder


def html_pages(site):
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_the_site_is_built_without_a_warning(site):
    assert "WARNING" not in built_site().said.upper()
    assert len(html_pages(site)) > len(PAGES)  # and the page for addresses that lead nowhere


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_a_session_or_a_file_that_one_uses(page):
    for block in blocks_of(PAGES[page]):
        if block.title:
            continue
        assert block.language in ("python", "console")
        assert block.text.startswith(">>> " if block.language == "python" else "$ pandora ")
        assert block.language == "console" or block.text.endswith("\n\n")  # where doctest sees the output end


def test_blocks_are_counted(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        '```csv title="a.csv"\nx\n```\n\n```console\n$ pandora one \\\n  two\nshown\n$ pandora three\n```\n'
    )
    file, session = blocks_of(page)
    assert file == ("csv", "a.csv", "x\n")
    assert commands_of(session) == [("pandora one   two", "shown\n"), ("pandora three", "")]
    assert sum(page.read_text(encoding="utf-8").count("\n```") for page in PAGES.values()) > 2 * 100


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_shown_files(PAGES[page])
    names, blocks = {"__name__": "__main__"}, blocks_of(PAGES[page])
    last = max(number for number, block in enumerate(blocks) if block.language == "console")
    for block in blocks[: last + 1]:  # what follows writes no file that a command reads
        if block.language == "python":
            run_session(block.text, names)
        for command in commands_of(block) if block.language == "console" else []:
            assert_shown(command)


def run_session(text, names):
    """Its output is compared where pytest runs the page; here it may write files."""
    for example in doctest.DocTestParser().get_examples(text):
        exec(compile(example.source, "<page>", "exec"), names)


def assert_shown(command):
    printed = run_command(command.line)
    assert doctest.OutputChecker().check_output(command.shown, printed, LENIENT), f"$ {command.line}\n{printed}"


def test_commands_are_asked_for_their_help_when_the_site_is_built(site):
    from pandora_regret.cli.commands import COMMANDS

    shown = text_of(site / "api/command/index.html")
    for command in [*COMMANDS, "study run", "study table"]:
        assert f"Usage: pandora {command} [OPTIONS]" in shown


def text_of(page):
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_elsewhere(site):
    for name, html in html_pages(site).items():
        away = [address for address in LOADED.findall(html) if re.match(r"(?:\w+:)?//", address)]
        assert not away, f"{name} loads {away}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style


def test_formulas_are_mathml_and_bring_their_font(site):
    pages = html_pages(site)
    formulas = sum(html.count("<math ") for html in pages.values())
    assert formulas > 100
    assert not any("arithmatex" in html or "$$" in html for html in pages.values())
    assert (site / "assets/mathematics.woff").stat().st_size > 20_000


def test_every_public_name_has_its_place_in_the_api(site):
    documented = {name.rpartition(".")[2] for name in inventory(site)}
    assert set(pandora_regret.__all__) - documented == {"__version__"}


def inventory(site):
    """The names of objects.inv, Sphinx's list of what is documented where."""
    *_, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    return [line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()]


IMPORT = re.compile(r"from (pandora_regret[\w.]*) import (\w+)$", re.MULTILINE)
DOCUMENTED = {
    page: re.findall(r"^::: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    for page, path in PAGES.items()
    if page.startswith("api/")
}


@pytest.mark.parametrize("page", [page for page, paths in DOCUMENTED.items() if paths])
def test_every_name_in_the_api_says_how_it_is_imported(site, page):
    if page == "api/torch.md":
        pytest.importorskip("torchmetrics", exc_type=Exception)
    html = (site / page[:-3] / "index.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="import highlight">.*?</div>', html, re.DOTALL)
    lines = [IMPORT.search(re.sub(r"<[^>]+>", "", block)) for block in blocks]
    named = {line[2]: getattr(import_module(line[1]), line[2]) for line in lines}
    for path in DOCUMENTED[page]:
        module, _, name = path.rpartition(".")
        thing = getattr(import_module(module), name)
        assert inspect.ismodule(thing) or named[name] is thing


def documented_functions():
    for path in (path for paths in DOCUMENTED.values() for path in paths if ".torch." not in path):
        module, _, name = path.rpartition(".")
        thing = getattr(import_module(module), name)
        if inspect.isfunction(thing):
            yield path, thing


def test_every_function_in_the_api_says_what_it_takes_and_returns():
    for path, function in documented_functions():
        signature, docstring = inspect.signature(function), inspect.getdoc(function)
        sections = dict(
            re.findall(r"^(\w+)\n-{3,}\n(.*?)(?=^\w+(?: \w+)*\n---|\Z)", docstring, re.MULTILINE | re.DOTALL)
        )
        listed = re.findall(r"^\S.*$", sections.get("Parameters", ""), re.MULTILINE)
        described = {name.strip("*") for line in listed for name in line.split(", ")}
        assert described == set(signature.parameters), path
        assert "Returns" in sections or signature.return_annotation == "None", path


def test_docstrings_cite_what_the_page_of_references_holds():
    keys = set(re.findall(r'<a id="(\w+)">', PAGES["references.md"].read_text(encoding="utf-8")))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    cited = set(re.findall(r"\[(\w+)\]_\.$", sources, re.MULTILINE))
    assert len(cited) > 10
    assert cited <= keys


def test_defaults_of_parameters_are_their_own(site):
    """Two names that share a description do not share a default."""
    text = " ".join(text_of(site / "api/calibrate/index.html").split())
    assert re.search(r"folds \( ?int ?, default: ?10 ?\)", text)
    assert re.search(r"seed \( ?int ?, default: ?0 ?\)", text)


def test_pages_say_nothing_of_where_they_were_written(site):
    for page in (*PAGES.values(), *DOCS.rglob("*.py"), *site.rglob("*.html")):
        assert not re.search(
            r"(?<!pandora_regret)/(?:home|work|tmp|Users|opt)/\w", page.read_text(encoding="utf-8")
        ), page


def test_the_readme_shows_what_a_page_shows():
    """Commands on pages are run; the README repeats one of them."""
    shown = [block.text for block in blocks_of(ROOT / "README.md") if block.language == "console"]
    on_pages = {block.text for page in PAGES.values() for block in blocks_of(page)}
    assert shown
    assert set(shown) <= on_pages


def test_the_install_page_says_what_every_extra_brings():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = {"none": project["dependencies"], **project["optional-dependencies"]}
    page = PAGES["install.md"].read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `?(\w+)`? \| .* \| (.*) \|$", page, re.MULTILINE))
    listed = {extra: set(re.split("[,;] ", table[extra])) for extra in needs if extra != "all"}
    assert listed == {extra: set(as_on_the_page(needs[extra])) for extra in listed}
    assert table.keys() - needs.keys() == {"Extra"}
    together = re.search(r"^\| `all` \| (.*) together", page, re.MULTILINE)[1]
    assert set(re.findall(r"`\w+`", together)) == set(as_on_the_page(needs["all"]))


def as_on_the_page(requirements):
    """`cli` for pandora-regret[cli], click 8.2 for click>=8.2."""
    for requirement in requirements:
        if others := re.match(r"pandora-regret\[(.+)\]", requirement):
            yield from (f"`{extra}`" for extra in others[1].split(","))
        else:
            package, _, least = requirement.partition(";")[0].partition(">=")
            yield f"{package.partition('[')[0]} {least}".strip()


def test_the_stability_page_lists_every_schema():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    schema = re.compile(r"pandora-[a-z]+/\d+")
    assert set(schema.findall(PAGES["stability.md"].read_text(encoding="utf-8"))) == set(schema.findall(sources))


def test_every_public_plot_is_in_the_gallery(site):
    from pandora_regret import plots

    page = PAGES["gallery.md"].read_text(encoding="utf-8")
    for name in plots.__all__:
        assert name in page
        if name.startswith("plot_"):
            assert f"### {name}\n" in page
            assert f"plots.{name}(" in page
            assert f"(figures/{name}.svg)" in page
            assert (site / f"figures/{name}.svg").stat().st_size > 5000


def test_the_projects_own_pages_are_on_the_site_and_linked(site):
    for name, heading in {
        "contributing": "Contributing",
        "architecture": "Architecture",
        "changelog": "Changelog",
    }.items():
        assert f"{heading}</h1>" in re.sub(
            "<a .*?</a>", "", (site / f"project/{name}/index.html").read_text(encoding="utf-8")
        )
    assert 'href="../architecture/"' in (site / "project/contributing/index.html").read_text(encoding="utf-8")
    assert 'href="../project/changelog/"' in (site / "stability/index.html").read_text(encoding="utf-8")


def test_the_picture_of_the_terminal_is_what_the_command_prints():
    """Which the page itself is compared with."""
    drawn = (DOCS / "assets/terminal.svg").read_text(encoding="utf-8")
    pieces = re.findall(r'clip-path="url\(#terminal-line-(\d+)\)">(.*?)</text>', drawn)
    lines = {number: "" for number, _ in pieces}
    for number, text in pieces:
        lines[number] += unescape(text).replace("\N{NO-BREAK SPACE}", " ")
    console = next(block for block in blocks_of(PAGES["how-to/subgroups.md"]) if block.language == "console")
    assert [line.split() for line in lines.values() if line.strip()] == [
        line.split() for line in console.text.splitlines() if line.strip()
    ], "python docs/hooks/screenshots.py docs/assets"


def test_pictures_are_modest(site):
    for picture in (site / "assets").glob("*.*"):
        if picture.suffix in (".svg", ".webp", ".png"):
            assert picture.stat().st_size < 200_000


def test_the_landing_page_cites_as_the_bibliography_does():
    [block] = (block for block in blocks_of(PAGES["index.md"]) if block.language == "bibtex")
    assert block.text in (DOCS / "references.bib").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"title += \{(.*)\}", block.text)[1] in citation


def test_the_landing_page_has_its_version(site):
    assert f"Version\n{pandora_regret.__version__}" in text_of(site / "index.html")

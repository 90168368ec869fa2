"""Pages that lie beside the folder of docs are on the site, too; links lead to them from both places.

CONTRIBUTING.md links to ARCHITECTURE.md, a page links to ../CONTRIBUTING.md: both work in a clone, where people
read the files, and are rewritten for the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from pandora_regret import __version__

PLACES = {  # a file of the repository: its page on the site
    "CONTRIBUTING.md": "project/contributing.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changelog.md",
    "LICENSE": "project/licence.md",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)")
VERSION = "<!-- version -->"


def on_files(files: Any, config: Any) -> None:
    """Adds the files as pages."""
    root = Path(config.config_file_path).parent
    for source, place in PLACES.items():
        text = (root / source).read_text(encoding="utf-8")
        if not source.endswith(".md"):
            text = f"# Licence\n\n{text}"
        files.append(File.generated(config, place, content=text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links into the repository lead to the site's pages; the version is written where it is asked for."""
    place = page.file.src_uri
    return LINK.sub(lambda link: site_link(link[1], place), markdown).replace(VERSION, __version__)


def site_link(link: str, place: str) -> str:
    """A link on the page at this place: where it leads on the site."""
    folder = "" if place in PLACES.values() else f"docs/{posixpath.dirname(place)}"
    target = posixpath.normpath(posixpath.join(folder, link))
    if target in PLACES:
        return posixpath.relpath(PLACES[target], posixpath.dirname(place) or ".")
    if not folder and target.startswith("docs/"):
        return posixpath.relpath(target.removeprefix("docs/"), posixpath.dirname(place))
    return link

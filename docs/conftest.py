"""Examples may read and write files: each page runs in a folder of its own, with the files that it shows."""

import pytest
from docs_site import write_shown_files


@pytest.fixture(autouse=True)
def _folder_of_the_page(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_shown_files(request.path)

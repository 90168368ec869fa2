"""What people are told: every sentence was read; a change of any is to be read, too."""

import pytest
from sentences import COMMAND, LIBRARY, output_of, read_pinned, sentence_of
from sessions import OUTPUTS, SESSIONS, transcript


@pytest.mark.parametrize("situation", LIBRARY)
def test_sentences_of_the_library(situation):
    assert sentence_of(LIBRARY[situation]) == read_pinned("library.txt")[situation]


@pytest.mark.parametrize("situation", COMMAND)
def test_sentences_of_the_command(situation, tmp_path):
    assert output_of(COMMAND[situation], tmp_path) == read_pinned("command.txt")[situation]


def test_nothing_is_pinned_that_nobody_says():
    assert set(read_pinned("library.txt")) == set(LIBRARY)
    assert set(read_pinned("command.txt")) == set(COMMAND)


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.__name__)
def test_sessions_at_a_terminal(session, tmp_path):
    if session.__name__ == "vendors":
        pytest.importorskip("python_calamine")
    pinned = (OUTPUTS / f"{session.__name__}.txt").read_text(encoding="utf-8")
    assert transcript(session, tmp_path) == pinned


def test_no_session_is_pinned_that_nobody_holds():
    assert {path.stem for path in OUTPUTS.iterdir()} == {session.__name__ for session in SESSIONS}

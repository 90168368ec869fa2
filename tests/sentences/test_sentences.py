"""What people are told when something is refused: every sentence was read; a change of any is to be read, too."""

import pytest
from sentences import COMMAND, LIBRARY, output_of, read_pinned, sentence_of


@pytest.mark.parametrize("situation", LIBRARY)
def test_sentences_of_the_library(situation):
    assert sentence_of(LIBRARY[situation]) == read_pinned("library.txt")[situation]


@pytest.mark.parametrize("situation", COMMAND)
def test_sentences_of_the_command(situation, tmp_path):
    assert output_of(COMMAND[situation], tmp_path) == read_pinned("command.txt")[situation]


def test_nothing_is_pinned_that_nobody_says():
    assert set(read_pinned("library.txt")) == set(LIBRARY)
    assert set(read_pinned("command.txt")) == set(COMMAND)

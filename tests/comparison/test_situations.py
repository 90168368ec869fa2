"""What people are told in twelve situations: every sentence was read; a change of any is to be read, too."""

import pytest
from situations import OUTPUTS, SITUATIONS, said


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.__name__)
def test_what_is_said(situation, tmp_path):
    assert said(situation, tmp_path) == (OUTPUTS / f"{situation.__name__}.txt").read_text(encoding="utf-8")

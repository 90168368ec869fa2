"""Student's t against scipy's, from half a degree of freedom to as many as there are rows in a large file."""

import pytest
from scipy.special import stdtr

from pandora_regret.inference.student import student_quantile, student_tail

FREEDOM = [0.5, 1.0, 1.7, 3.0, 10.0, 30.5, 199.0, 1e4, 2e7, 1e10]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_tails(freedom: float) -> None:
    for t in (0.0, 0.01, 0.3, 1.0, 2.0, 3.7, 9.0, 25.0):
        assert student_tail(freedom, t) == pytest.approx(stdtr(freedom, -t), rel=1e-12)


@pytest.mark.parametrize("freedom", FREEDOM)
@pytest.mark.parametrize("share", [0.5, 0.6, 0.9, 0.975, 0.9995])
def test_quantiles(freedom: float, share: float) -> None:
    assert stdtr(freedom, student_quantile(freedom, share)) == pytest.approx(share, rel=1e-14)

"""The paper's gradient profile: how hard the pair loss pushes a distractor's logit down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import read_alpha
from pandora_regret.plots.style import axes_of, curve, name_lines, open_frame
from pandora_regret.priors.beta import beta_loss_slope
from pandora_regret.text import alpha_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.0, 0.3, 1.0, 3.0)
FURTHEST = 4.0  # gap of logits that is shown, to both sides


def plot_gradient_profile(alphas: Sequence[float] = ALPHAS, *, ax: Axes | None = None) -> Axes:
    """The gradient of the pair loss in the distractor's logit, against the gap of logits ``z_i - z_j``.

    It is largest, alpha + 1, where truth and distractor tie, and decays at rate alpha where the truth is behind
    and at rate alpha + 1 where it is ahead.

    Parameters
    ----------
    alphas
        From 0 to inf; at inf all of the gradient is at the tie, and a vertical line says so.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_gradient_profile([1.0], ax=Figure().subplots())
    >>> float(max(axes.lines[0].get_ydata()))
    2.0
    """
    axes = axes_of(ax)
    gaps = np.linspace(-FURTHEST, FURTHEST, 401)  # 0 is among them
    lines = []
    for number, alpha in enumerate(map(read_alpha, alphas)):
        if alpha == np.inf:
            lines.append(axes.axvline(0, **curve(number, alpha)))
        else:
            lines += axes.plot(gaps, -beta_loss_slope(gaps, alpha), **curve(number, alpha))
    axes.set(xlim=(-FURTHEST, FURTHEST), ylim=(0, None))
    axes.set(xlabel="truth ahead by, δ = $z_i - z_j$", ylabel=r"gradient $\partial L_α / \partial z_j$")
    name_lines(axes, lines, [alpha_name(alpha) for alpha in alphas], loc="upper left")
    return open_frame(axes)

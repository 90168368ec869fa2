"""The paper's figure of the pair loss: what a distractor costs at given odds, and the limits of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import read_alpha
from pandora_regret.plots.style import axes_of, curve, name_lines, open_frame
from pandora_regret.priors.beta import beta_loss
from pandora_regret.text import alpha_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.0, 0.3, 1.0, 3.0, np.inf)
FURTHEST = 20.0  # odds that are shown, for and against the truth
MEANINGS = {0.0: "1 − ln r, then 1/r", 1.0: "Pandora’s Regret", np.inf: "ranks alone"}


def plot_pair_loss(alphas: Sequence[float] = ALPHAS, *, ax: Axes | None = None) -> Axes:
    """The pair loss L_alpha(r) at odds ``r = p_i / p_j`` of the truth i against a distractor j.

    Parameters
    ----------
    alphas
        From 0 to inf, both limits included; at inf the loss jumps from 2 over 1 to 0.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_pair_loss([0, 1], ax=Figure().subplots())
    >>> axes.get_xscale(), len(axes.get_legend().get_texts())
    ('log', 2)
    """
    axes = axes_of(ax)
    behind = np.geomspace(1 / FURTHEST, np.nextafter(1, 0), 200)
    odds = np.concatenate([behind, [1.0], 1 / behind[::-1]])  # next to 1, where the limit at inf jumps
    lines = []
    for number, alpha in enumerate(map(read_alpha, alphas)):
        lines += axes.plot(odds, beta_loss(np.log(odds), alpha), **curve(number, alpha))
    axes.plot(1, 1, "o", color="black", markersize=3, zorder=4)
    axes.set(xscale="log", xlim=(1 / FURTHEST, FURTHEST), ylim=(0, None))
    axes.set_xticks([0.1, 1, 10], ["1/10", "1", "10"])
    axes.set(xlabel="odds of truth to distractor, r = $p_i / p_j$", ylabel="pair loss $L_α(r)$")
    name_lines(axes, lines, [in_words(alpha) for alpha in alphas], loc="upper right")
    return open_frame(axes)


def in_words(alpha: float) -> str:
    """An alpha and what it stands for."""
    return f"{alpha_name(alpha)}: {MEANINGS[alpha]}" if alpha in MEANINGS else alpha_name(alpha)

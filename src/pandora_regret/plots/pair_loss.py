"""The paper's figures of the pair loss: what a distractor costs at given odds, and how hard it is pushed down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import read_alpha
from pandora_regret.plots.style import axes_of, curve, name_lines, open_frame
from pandora_regret.priors.beta import beta_loss, beta_loss_slope
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


FINITE_ALPHAS = (0.0, 0.3, 1.0, 3.0)
WIDEST = 4.0  # gap of logits that is shown, to both sides


def plot_gradient_profile(alphas: Sequence[float] = FINITE_ALPHAS, *, ax: Axes | None = None) -> Axes:
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
    gaps = np.linspace(-WIDEST, WIDEST, 401)  # 0 is among them
    lines = []
    for number, alpha in enumerate(map(read_alpha, alphas)):
        if alpha == np.inf:
            lines.append(axes.axvline(0, **curve(number, alpha)))
        else:
            lines += axes.plot(gaps, -beta_loss_slope(gaps, alpha), **curve(number, alpha))
    axes.set(xlim=(-WIDEST, WIDEST), ylim=(0, None))
    axes.set(xlabel="truth ahead by, δ = $z_i - z_j$", ylabel=r"gradient $\partial L_α / \partial z_j$")
    name_lines(axes, lines, [alpha_name(alpha) for alpha in alphas], loc="upper left")
    return open_frame(axes)

"""Figures, one file per figure; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.plots.alpha_curve import plot_alpha_curve as plot_alpha_curve
    from pandora_regret.plots.beta_simplex import plot_beta_simplex as plot_beta_simplex
    from pandora_regret.plots.bills import plot_bills as plot_bills
    from pandora_regret.plots.cost_calibration import plot_cost_calibration as plot_cost_calibration
    from pandora_regret.plots.decision_regions import plot_decision_plane as plot_decision_plane
    from pandora_regret.plots.decision_regions import plot_decision_simplex as plot_decision_simplex
    from pandora_regret.plots.gradient_profile import plot_gradient_profile as plot_gradient_profile
    from pandora_regret.plots.pair_costs import plot_pair_costs as plot_pair_costs
    from pandora_regret.plots.pair_loss import plot_pair_loss as plot_pair_loss
    from pandora_regret.plots.paper import draw_paper_figures as draw_paper_figures
    from pandora_regret.plots.ranks import plot_ranks as plot_ranks
    from pandora_regret.plots.saving import save_figure as save_figure
    from pandora_regret.plots.score_histograms import plot_score_histograms as plot_score_histograms
    from pandora_regret.plots.search_trace import plot_search_trace as plot_search_trace
    from pandora_regret.plots.sensitivity import plot_sensitivity as plot_sensitivity
    from pandora_regret.plots.tau_gaps import plot_tau_gaps as plot_tau_gaps
    from pandora_regret.plots.ternary import plot_ternary as plot_ternary

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "alpha_curve": ("plot_alpha_curve",),
        "beta_simplex": ("plot_beta_simplex",),
        "bills": ("plot_bills",),
        "cost_calibration": ("plot_cost_calibration",),
        "decision_regions": ("plot_decision_plane", "plot_decision_simplex"),
        "gradient_profile": ("plot_gradient_profile",),
        "pair_costs": ("plot_pair_costs",),
        "pair_loss": ("plot_pair_loss",),
        "paper": ("draw_paper_figures",),
        "ranks": ("plot_ranks",),
        "saving": ("save_figure",),
        "score_histograms": ("plot_score_histograms",),
        "search_trace": ("plot_search_trace",),
        "sensitivity": ("plot_sensitivity",),
        "tau_gaps": ("plot_tau_gaps",),
        "ternary": ("plot_ternary",),
    },
)

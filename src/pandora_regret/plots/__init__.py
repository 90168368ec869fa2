"""Figures, by what they show; matplotlib is imported when one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.plots.compared_models import plot_alpha_curve as plot_alpha_curve
    from pandora_regret.plots.compared_models import plot_cost_calibration as plot_cost_calibration
    from pandora_regret.plots.compared_models import plot_pair_costs as plot_pair_costs
    from pandora_regret.plots.compared_models import plot_ranks as plot_ranks
    from pandora_regret.plots.decision_regions import plot_beta_simplex as plot_beta_simplex
    from pandora_regret.plots.decision_regions import plot_decision_plane as plot_decision_plane
    from pandora_regret.plots.decision_regions import plot_decision_simplex as plot_decision_simplex
    from pandora_regret.plots.pair_loss import plot_gradient_profile as plot_gradient_profile
    from pandora_regret.plots.pair_loss import plot_pair_loss as plot_pair_loss
    from pandora_regret.plots.paper import draw_paper_figures as draw_paper_figures
    from pandora_regret.plots.score_histograms import plot_score_histograms as plot_score_histograms
    from pandora_regret.plots.simplex import plot_ternary as plot_ternary
    from pandora_regret.plots.single_case import plot_bills as plot_bills
    from pandora_regret.plots.single_case import plot_search_trace as plot_search_trace
    from pandora_regret.plots.style import save_figure as save_figure
    from pandora_regret.plots.tau_gaps import plot_sensitivity as plot_sensitivity
    from pandora_regret.plots.tau_gaps import plot_tau_gaps as plot_tau_gaps

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "compared_models": ("plot_alpha_curve", "plot_cost_calibration", "plot_pair_costs", "plot_ranks"),
        "decision_regions": ("plot_beta_simplex", "plot_decision_plane", "plot_decision_simplex"),
        "pair_loss": ("plot_gradient_profile", "plot_pair_loss"),
        "paper": ("draw_paper_figures",),
        "score_histograms": ("plot_score_histograms",),
        "simplex": ("plot_ternary",),
        "single_case": ("plot_bills", "plot_search_trace"),
        "style": ("save_figure",),
        "tau_gaps": ("plot_sensitivity", "plot_tau_gaps"),
    },
)

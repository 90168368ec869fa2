"""An incident on call: 25 components of which one is at fault, 8 noisy diagnostics, two maintenance windows.

All numbers are drawn from one seed. What diagnostics show is drawn case by case, and a work-up knows their rates
from 400 records only, as `learn_workup` takes them; inspections are certain, and a restart always helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import pandora_regret as pr

COMPONENTS = (
    "gateway", "auth", "dns", "cache", "queue", "search", "billing", "mailer", "proxy", "scheduler", "sessions",
    "uploads", "thumbnails", "webhooks", "ledger", "feature flags", "rate limiter", "metrics", "orders db",
    "users db", "replica", "disk array", "switch", "firewall", "load balancer",
)  # fmt: skip
DIAGNOSTICS = (
    "error log", "latency graph", "canary", "trace", "db status", "packet capture", "memory graph", "user reports",
)  # fmt: skip
WINDOWS = {  # which components can be opened in them only
    "database window": ("orders db", "users db", "replica", "disk array"),
    "network window": ("switch", "firewall", "load balancer"),
}
WINDOW_MINUTES = (25, 40)
RESTART = 180.0
FAULT = "fault"


@dataclass(frozen=True)
class Incident:
    """How things really are: what `records` are drawn from."""

    components: tuple[str, ...]
    diagnostics: tuple[str, ...]
    shares: np.ndarray  # (K,) how often each component is at fault
    alarms: np.ndarray  # (D, K) how likely each diagnostic shows an alarm if a component is at fault
    minutes: np.ndarray  # (K,) of each inspection
    diagnostic_minutes: np.ndarray  # (D,)

    @classmethod
    def drawn(cls, seed: int = 41, n_classes: int = len(COMPONENTS), n_tests: int = len(DIAGNOSTICS)) -> Incident:
        """Every diagnostic is likely to show an alarm for some components, and seldom for the others.

        With fewer components these are the last ones, so that those in windows are among them.
        """
        rng = np.random.default_rng(seed)
        concerned = rng.random((n_tests, n_classes)) < 0.35
        alarms = np.where(
            concerned,
            rng.uniform(0.65, 0.95, (n_tests, n_classes)),
            rng.uniform(0.03, 0.2, (n_tests, n_classes)),
        )
        return cls(
            components=COMPONENTS[-n_classes:],
            diagnostics=DIAGNOSTICS[:n_tests],
            shares=rng.dirichlet(np.full(n_classes, 2.0)),
            alarms=alarms,
            minutes=rng.integers(8, 40, n_classes).astype(np.float64),
            diagnostic_minutes=rng.integers(3, 13, n_tests).astype(np.float64),
        )

    def draw_cases(self, n_cases: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The component at fault in each case, (n,), and whether each diagnostic shows an alarm, (n, D)."""
        faults = rng.choice(len(self.shares), n_cases, p=self.shares)
        alarms = rng.random((n_cases, len(self.alarms))) < self.alarms.T[faults]
        return faults, alarms

    def records(self, n_cases: int, rng: np.random.Generator, blank: float = 0.0) -> dict[str, list[str]]:
        """Cases as `learn_workup` takes them; a share of the outcomes is blanked at random."""
        faults, alarms = self.draw_cases(n_cases, rng)
        is_blank = rng.random(alarms.shape) < blank
        shown = np.where(is_blank, "", np.where(alarms, "alarm", "clean"))
        columns = {FAULT: [self.components[k] for k in faults]}
        return columns | {name: shown[:, d].tolist() for d, name in enumerate(self.diagnostics)}

    def workup(self, n_records: int = 400, seed: int = 1) -> pr.Workup:
        """The work-up whose rates are learned from records, with inspections, windows and the way out."""
        past = self.records(n_records, np.random.default_rng(seed))
        costs = dict(zip(self.diagnostics, self.diagnostic_minutes.tolist(), strict=True))
        learned = pr.learn_workup(past, FAULT, costs, unit="minutes").document
        windows: dict[str, Any] = {
            name: {"cost": minutes} for name, minutes in zip(WINDOWS, WINDOW_MINUTES, strict=True)
        }
        inspections: dict[str, Any] = {}
        for k, name in enumerate(self.components):
            inspections[f"inspect {name}"] = {"cost": float(self.minutes[k]), "confirms": name}
            for window, behind in WINDOWS.items():
                if name in behind:
                    inspections[f"inspect {name}"]["requires"] = window
        missing = [name for name in self.components if name not in learned["classes"]]
        return pr.Workup(
            **learned
            | {
                "title": "An incident",
                "classes": [*learned["classes"], *missing],
                "steps": learned["steps"] | windows | inspections,
                "stops": {"restart everything": {"loss": RESTART}},
            }
        )

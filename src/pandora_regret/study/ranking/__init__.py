"""How well metrics rank models: Kendall's tau, the regret of choosing, and a paired bootstrap of both."""

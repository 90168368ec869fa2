"""Predictions on disk: whole or not at all, checksummed, and predictions people have, brought into a store."""

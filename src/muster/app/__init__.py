"""Composition root: settings, wiring, the loops that carry decisions out."""

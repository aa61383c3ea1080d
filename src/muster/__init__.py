"""Muster: a gang scheduler for Kubernetes. Groups of pods start whole or not at all."""

__version__ = "0.1.0"

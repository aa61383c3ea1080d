"""Plugins for Muster, to copy from: one module each."""

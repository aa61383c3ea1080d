"""Service (core/v1)."""

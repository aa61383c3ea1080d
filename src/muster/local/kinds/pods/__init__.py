"""Pod (core/v1), and the templates that others make pods of."""

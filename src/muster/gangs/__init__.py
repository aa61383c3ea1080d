"""The Gang model, and dialects: one module per API that names gangs."""

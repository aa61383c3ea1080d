"""Requests in, answers and streams out: routes, verbs, options, views, discovery, OpenAPI; special for single kinds."""

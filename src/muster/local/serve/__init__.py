"""Requests in, answers and streams out: routes, verbs, options, views, discovery, OpenAPI; special is for single kinds."""

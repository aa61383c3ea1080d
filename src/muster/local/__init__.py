"""The embedded cluster: an API server that kubectl takes for the real one, its store, simulated kubelets.

The server is a core without I/O (`server.Server`): a request in, an answer or a stream of events out.  `http` is its
shell.  Nothing here knows the scheduler: that one comes over HTTP, with the client that serves real clusters.
"""

"""The embedded cluster: an API server that kubectl takes for the real one, its store, simulated kubelets.

    process     start, HTTP, identity
    serve       a request in, an answer or a stream of events out: routes, verbs, views, discovery, OpenAPI; special
                is what only some kinds can do
    objects     the life of an object: who owns its fields, admission, finalizers; definitions that make kinds
    kinds       what is served: the data, the strategy of kinds that are data, and code for kinds that do something
    patching    merge patch, JSON patch, strategic merge patch, server-side apply
    store       objects and their history, the log on disk
    schema      what objects may look like: shapes, and the one decoder that reads by them
    checks      what is wrong with names, metadata and fields, and the words for it
    codec       JSON and YAML as Go reads and writes them
    kubelets    simulated; clients of the server as real ones are

Imports point downwards, and `make lint` keeps that.  The server is a core without I/O (`serve.server.Server`),
`process.http` is its shell.  Nothing here knows the scheduler: that one comes over HTTP, with the client that serves
real clusters.
"""

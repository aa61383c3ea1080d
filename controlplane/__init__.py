"""A real Kubernetes control plane on loopback, for tests and benchmarks: built, started, stopped.

`build` provides the programs, `plane` starts them, `kubelet` stands in for the nodes' agents.
"""

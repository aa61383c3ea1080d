"""Muster, kube-scheduler and a bare loop of binding calls, side by side on one real API server.

`make bench-kube`, or `python -m benchmarks.kube --help`
"""

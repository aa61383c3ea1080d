"""Benchmarks: shapes, figures and the machine; no verdicts.  `python -m benchmarks [NAME...]`"""

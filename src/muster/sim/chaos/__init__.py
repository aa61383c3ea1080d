"""Seeded random worlds: everything that can happen to a cluster, and everything that can go wrong.

recipe   what a seed makes of a world: nodes, shapes of pods, moods, a plan of events
events   what can happen, one method each
run      one world from its seed to its end, with the invariants watching
"""

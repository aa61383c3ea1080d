"""Families of rules that the invariants are made of, each recomputed from objects and decisions alone.

scene      the room on the nodes while a batch of decisions is played: taken, leaving, kept
reservations     room that is kept for units, as nominations and decisions tell
evictions  who may be evicted for whom, and what must come of it
passes     how often gangs that wait may be passed
life       what becomes of a gang after its start
"""

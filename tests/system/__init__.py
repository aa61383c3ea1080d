"""The whole system in simulation: replicas of Muster as they run in production, on a network that fails.

loop        an event loop in virtual time
network     carries requests from clients to the API server's core, or loses, delays, repeats and cuts them
processes   replicas, which die and come back
kubelets    what nodes, controllers and another scheduler do with pods
world       what a seed makes of a world: its nodes, its troubles, the plan of what happens
rules       what must hold at any time, and when it is quiet
run         one world from its seed to its end
"""

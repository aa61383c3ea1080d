"""The whole system in simulation: scheduler, controllers and kubelets as they are in production, where all else fails.

loop             an event loop in virtual time
cluster          the API server's core, whose process ends and starts again with what its log holds
disk             the log in a file, on a disk that fails, is full, or is torn by a death
network          carries requests from clients to the server, or loses, delays, repeats and cuts them
processes        replicas of Muster, controllers and kubelets, which die and come back
other_scheduler  what another scheduler does with pods of its own
world            what a seed makes of a world: nodes, troubles, the plan of what happens to pods, nodes, processes
dialects         how gangs are written besides, and what rules read of that
stories          ... and to Jobs, budgets, custom kinds, owners and what several apply
rules            what must hold of the scheduler at any time, and when it is quiet
stored           what must hold of all objects that are stored; `applied` says how an apply must come out
faults           mistakes to plant, each of which some rule catches
run              one world from its seed to its end
"""

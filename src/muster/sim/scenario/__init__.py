"""Scenario files: a cluster, steps, expectations; read, played in virtual time, and told in words.

file → place                  YAML with line numbers
     → steps → shapes         what steps say, as actions
     → expectations           what is to be seen
actions, manifests            plain data, for any driver
run → stage                   plays it wherever there is a cluster and a time
    → perform                 the simulated one: the bare engine on a World
    → record → story          what can be seen, and the timeline
"""

"""Scenario files: a cluster, steps, expectations; read, run in virtual time, and told in words.

file → place                  YAML with line numbers
     → steps → shapes         what steps say, as actions
     → expectations           what is to be seen
actions, manifests            plain data, for any driver
run → perform                 this driver: the bare engine on a World
    → record → story          what can be seen, and the timeline
"""

"""What is served.

kind        what a kind is: its names, the shape of its objects, and what is particular to it (`Strategy`)
rows        the built-in kinds: rows of data, and the code of those that do something
generic     the strategy of all others, made of data
rules       what is asked of structs: by the data, and by tables of the kinds; declared: those that know what was before
defaults    what is put into structs
switches    the kinds with a feature gate off
registry    all that is served now, the kinds of definitions too
status      refusals, as Kubernetes tells them
tables      `kubectl get`
pods, jobs, services, definitions, and a module each for others: what is particular to them
"""

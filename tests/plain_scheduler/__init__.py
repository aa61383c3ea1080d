"""The default scheduler of Kubernetes 1.37.1 in plain Python, on plain documents: what Muster is compared with.

    cluster = Cluster(nodes, pods, namespaces={"team-a": {"tier": "gold"}})
    decide(cluster, pod).best           the names of the nodes with the highest score, or none
    decide(cluster, pod).message        what kube-scheduler writes into the PodScheduled condition when there is none

Nodes, pods and owners are dicts as JSON has them, in the form in which the API server gives them out; `as_admitted`
brings a pod into that form as far as it matters here.  One pod, one node and one rule at a time: slow, and short enough
to be checked by reading.  `tests/control_plane/test_plain_scheduler.py` asks the real kube-scheduler the same.

    decide ─ filters ─ rules of one node ─ node_rules, resources, volumes
                     └ rules that look at other pods ─ affinity, spread
           └ preemption: who would have to go
"""

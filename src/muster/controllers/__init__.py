"""Kubernetes' own controllers for clusters that have none, as cores without I/O on one driver; and group protection.

manager     all of them together          driver   between cores and a cluster
desk        what cores have in common     shelf    objects as they are known
protection  for custom PodGroups: used by the scheduler itself
"""

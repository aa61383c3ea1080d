"""What the volumes of a pod ask of nodes, and which volumes it gets: values in, values out.

    claims   which claims a pod has, and whether one of them holds it back altogether
    needs    what is left of claims for nodes: constraints without names, so that equal pods are equal
    nodes    which nodes meet them, part by part; masks: all nodes at once
    choice   which volumes a pod gets on a node; grants: what is to be written for that; score: how well they fit
    limits   how many volumes a node takes
    disks    what pods on one node may not share

Objects are looked up in a Storage; nothing here keeps or changes any, except a Stock of volumes to choose from.
"""

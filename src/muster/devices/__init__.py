"""Devices (resource.k8s.io): what nodes have of them, who may have which, and what is left.

    facts       a device as selectors and requests see it
    pools       what a node sees of one pool of devices
    inventory   slices and taint rules in, what each node can see of them out
    selectors   expressions over devices
    needs       what a claim asks for, with its classes
    capacity    parts of devices that several claims may share
    matching    which devices of a node fit which request
    taken       what is given away already
    picks       devices that are being chosen for claims, one after the other
    allocator   a search for devices that meet all claims of a pod at once
    results     what is found, as the API wants it written
    extended    claims for extended resources that devices stand for

A node's devices are a Supply, a pod's claims are Needs, and both are shared by all that are equal: what was found once
for a Matching of the two and for what is taken of it holds wherever they meet again.
"""

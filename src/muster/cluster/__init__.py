"""The cluster as columns: nodes, pods, pod classes, gangs; trial copies."""

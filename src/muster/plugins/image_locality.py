"""ImageLocality: prefers nodes that have the pod's images already, the more so the larger these are.

An image counts by the share of nodes that have it, so that not all pods follow the first: a change of one node may
change the score of all.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from muster.cluster.classes import PodClass
from muster.cluster.nodes import NodeTable
from muster.cluster.usage import Ints
from muster.framework.contract import MAX_SCORE, NodesScore

_MEBI = 1024 * 1024
_LEAST = 23 * _MEBI
_MOST_PER_IMAGE = 1000 * _MEBI


class ImageLocality(NodesScore):
    name = "ImageLocality"

    def concerns(self, pod_class: PodClass, nodes: NodeTable) -> bool:
        return any(image in nodes.images for image in pod_class.images)

    def epoch(self, nodes: NodeTable) -> tuple[int, ...]:
        return nodes.images.epoch, nodes.order_epoch

    def score(self, pod_class: PodClass, nodes: NodeTable) -> Ints:
        total = np.zeros(nodes.capacity, np.int64)
        for image, times in Counter(pod_class.images).items():
            found = nodes.images.having(image)
            if found is not None:
                rows, size = found
                share = float(np.count_nonzero(rows)) / float(len(nodes))
                total += times * int(float(size) * share) * rows
        most = _MOST_PER_IMAGE * len(pod_class.images)
        return MAX_SCORE * (np.clip(total, _LEAST, most) - _LEAST) // (most - _LEAST)

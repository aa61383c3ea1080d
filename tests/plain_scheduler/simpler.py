"""TEMPORARY: without what Muster does not have yet."""

import copy

from tests.plain_scheduler import decision, random_clusters
from tests.plain_scheduler.cluster import Owners

decision.WEIGHTS["ImageLocality"] = 0
random_clusters.Surroundings.owners = property(lambda self: Owners())


def simpler(world):
    world = copy.deepcopy(world)
    for pod in (*world.placed, *world.coming):
        sp = pod["spec"]
        sp.pop("resources", None)
        if sp.get("schedulerName") == "ratio":
            sp["schedulerName"] = "default-scheduler"
        for c in sp["containers"]:
            c.pop("restartPolicyRules", None)
            c.pop("restartPolicy", None)
    return world

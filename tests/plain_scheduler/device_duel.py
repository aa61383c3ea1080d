"""Muster and kube-scheduler, asked about the same pods with claims for devices on the same cluster, one after another.

A pod goes where kube-scheduler puts it and gets what kube-scheduler gives it, whatever Muster would have done.  Between
pods others end, pools are published anew, and rules that taint devices come and go.  Compared are the nodes that take a
pod, what each is worth, the words of a refusal, which devices are given on the same node; every allocation, theirs and
ours, is held against the rules by a checker that shares nothing with either.

Four things are as we want them, or as we have them, and not as upstream has them:

- one node that cannot be judged is refused by itself: upstream gives up on the pod;
- others are evicted for the devices that they hold: upstream evicts nobody for these;
- of claims that a pod without a place brings, and that are nobody else's, all are given back: upstream gives back one,
  and only if another node would do but for it.  The world ends there, since nobody knows when the pod is tried again;
- a way to meet a request that stands before others makes a node no better: upstream rates nodes by that.
"""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from muster.framework.grants import Allocate
from tests.devices.cases import plain
from tests.devices.checker import problems
from tests.devices.on_nodes import facts_on
from tests.plain_scheduler.duel import words_of
from tests.plain_scheduler.muster import Muster, Said
from tests.plain_scheduler.random_devices import SPACE, EquippedWorld, Gear, rule_over
from tests.plain_scheduler.selectors import Document
from tests.plain_scheduler.standing_in import Heard

_GIVEN_BACK = "deallocation of ResourceClaim completed"
_NO_CLASS = re.compile(r"0/\d+ nodes are available: (request .* does not exist)\.")
_RATES = "DynamicResources"
"""Whose scores are not compared."""


class DeviceDuel:
    """All pods of one world."""

    def __init__(self, real: Any, world: EquippedWorld) -> None:
        self.seen: Counter[str] = Counter()
        self.differences: list[tuple[str, object, object]] = []
        """(whom it is about, kube-scheduler's, Muster's)"""
        self._real = real
        self._world = world
        self._chance = random.Random(f"device duel {world.seed}")
        self._rules = 0
        self._placed: list[Document] = []
        self._nodes = {node["metadata"]["name"]: node for node in real.make(world).nodes}
        self._gear = Gear(**real.listed("slices", "rules", "claims"))
        self._muster = self._restarted()

    def run(self) -> None:
        for sent in self._world.coming:
            if not self._next(sent):
                return
            self._meanwhile()

    # --- one pod ---

    def _next(self, sent: Document) -> bool:
        """Whether the world goes on."""
        heard = self._real.about(sent)
        self._pod, after = heard.pod, self._now("claims")
        before = _with_claims_made(self._gear, after)
        self._muster.equip(before)
        said = self._muster.about(heard.pod)
        self.seen["pods"] += 1
        self.seen["with claims"] += "resourceClaims" in heard.pod["spec"]
        self._gear = after
        if heard.nominated:
            self.seen["evicting for room, not compared"] += 1
            return False
        if heard.node is not None:
            self._compare_places(heard, said, before)
            self._goes_to(heard.pod, heard.node)
        elif not heard.message.startswith("0/"):
            self._compare_where_one_gives_up(said, before)
        else:
            self._compare_refusals(heard, said)
            if _GIVEN_BACK in heard.message:
                # the pod is tried once more, nobody knows when
                self._equal("gives back", True, bool(said.taken_back))
                self.seen["given back"] += 1
                return False
        if said.nominated or said.taken_back:
            self.seen["evicts for devices" if said.nominated else "given back by Muster alone"] += 1
            self._muster = self._restarted()
        elif heard.node is None:
            self._muster.loses(heard.pod)
        return True

    def _goes_to(self, pod: Document, node: str) -> None:
        now = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        self._placed.append(now)
        self._muster.equip(self._gear)
        self._muster.sees(now)

    def _compare_places(self, heard: Heard, said: Said, before: Gear) -> None:
        self.seen["placed"] += 1
        assert heard.node is not None
        is_rated = any(_RATES in parts for parts in heard.scores.values())
        totals = {
            node: sum(score for plugin, score in parts.items() if plugin != _RATES)
            for node, parts in heard.scores.items()
        } or {heard.node: 0}
        best = max(totals.values())
        self._equal("below the best", {node: best - total for node, total in totals.items()}, dict(said.below_best))
        self._equal("Muster's node is one of the best", True, said.node in said.best)
        if is_rated:
            self.seen["rated by ways to meet requests"] += 1
        else:
            self._equal("its node is one of the best", True, heard.node in said.best)
        theirs = _given(self._gear, self._asking(before))
        self._check("theirs", heard.node, theirs, before)
        if said.node is not None:
            ours = granted(said)
            self._check("ours", said.node, ours, before)
            if said.node == heard.node and theirs:
                self.seen["on the same node"] += 1
                self._equal("devices", _shown(theirs), _shown(ours))

    def _compare_refusals(self, heard: Heard, said: Said) -> None:
        self.seen["refused"] += 1
        self._equal("message", _words_of(heard.message), words_of(said.message))
        for words in ("cannot allocate all claims", "not available on the node", "invalid resource pools"):
            self.seen[words] += words in heard.message

    def _compare_where_one_gives_up(self, said: Said, before: Gear) -> None:
        self.seen["given up on"] += 1
        if said.node is not None:
            self.seen["given up on, and placed by Muster"] += 1
            self._check("ours", said.node, granted(said), before)

    # --- devices ---

    def _asking(self, gear: Gear) -> list[Document]:
        """Claims of the pod that have no devices, in its order."""
        spec, status = self._pod["spec"], self._pod.get("status", {})
        made = {one["name"]: one["resourceClaimName"] for one in status.get("resourceClaimStatuses", ())}
        names = [entry.get("resourceClaimName") or made[entry["name"]] for entry in spec.get("resourceClaims", ())]
        claims = [gear.claim(name) for name in dict.fromkeys(names)]
        return [claim for claim in claims if not has_devices(claim)]

    def _check(self, whose: str, node: str, given: Mapping[str, Document], before: Gear) -> None:
        asking = self._asking(before)
        facts = facts_on(
            self._nodes[node],
            asking,
            classes=self._real.around.of("deviceclasses"),
            slices=before.slices,
            rules=before.rules,
            allocations=[one["status"]["allocation"] for one in before.claims if has_devices(one)],
        )
        names = [claim["metadata"]["name"] for claim in asking]
        self._equal(f"claims that are met, {whose}", names, [name for name in names if name in given])
        if set(names) <= given.keys():
            self._equal(f"what is wrong with {whose}", [], problems(facts, [given[name] for name in names]))
            self.seen["allocations"] += len(names)

    # --- meanwhile ---

    def _meanwhile(self) -> None:
        if self._placed and self._chance.random() < 0.2:
            self._one_ends()
        if self._chance.random() < 0.15:
            self._rules_change()
        if self._gear.slices and self._chance.random() < 0.15:
            self._pool_is_published_anew()
        self._muster.equip(self._gear)

    def _one_ends(self) -> None:
        pod = self._placed.pop(self._chance.randrange(len(self._placed)))
        self.seen["ended"] += 1
        self._real.ends(pod)
        self._gear = self._now("claims")
        self._muster.equip(self._gear)
        self._muster.loses(pod)

    def _rules_change(self) -> None:
        if self._gear.rules and self._chance.random() < 0.5:
            self._real.take_away("rules", self._chance.choice(self._gear.rules)["metadata"]["name"])
        else:
            self._rules += 1
            name = f"w{self._world.seed}-later-{self._rules}"
            self._real.put("rules", rule_over(self._chance, name, self._gear.slices))
        self._changed("rules")

    def _pool_is_published_anew(self) -> None:
        """The devices of some of its slices in another order, one of them gone: a generation later."""
        chosen = self._chance.choice(self._gear.slices)["spec"]
        for one in self._gear.slices:
            spec = one["spec"]
            if (spec["driver"], spec["pool"]["name"]) != (chosen["driver"], chosen["pool"]["name"]):
                continue
            spec["pool"]["generation"] += 1
            devices = spec.get("devices", [])
            self._chance.shuffle(devices)
            if len(devices) > 1:
                devices.pop()
            self._real.put("slices", one)
        self._changed("slices")

    def _changed(self, field: str) -> None:
        self.seen[f"other {field}"] += 1
        self._real.settle(field)
        self._gear = self._now(field)

    # --- parts ---

    def _now(self, field: str) -> Gear:
        return replace(self._gear, **self._real.listed(field))

    def _restarted(self) -> Muster:
        """Muster begins anew with what the API server has."""
        muster = Muster(self._real.configuration(), self._real.around, began=time.time())
        muster.equip(self._gear)
        muster.take(self._nodes.values(), self._real.pods())
        return muster

    def _equal(self, what: str, theirs: object, ours: object) -> None:
        if theirs != ours:
            name = self._pod["metadata"]["name"]
            self.differences.append((f"world {self._world.seed}, {name}, {what}", theirs, ours))


def _with_claims_made(before: Gear, after: Gear) -> Gear:
    """As it was, with the claims that have been made for the pod since."""
    known = {claim["metadata"]["name"] for claim in before.claims}
    made = [{**claim, "status": {}} for claim in after.claims if claim["metadata"]["name"] not in known]
    return Gear(before.slices, before.rules, [*before.claims, *made])


def _words_of(message: str) -> str:
    """What kube-scheduler says of the nodes; or of the claim, if it did not come to the nodes."""
    said = words_of(message).partition(f" {_GIVEN_BACK}")[0]
    found = _NO_CLASS.fullmatch(said)
    return found[1] if found else said


def _given(gear: Gear, claims: list[Document]) -> dict[str, Document]:
    """Allocations by claim, of those among these that have one now."""
    found = {claim["metadata"]["name"]: gear.claim(claim["metadata"]["name"]) for claim in claims}
    return {name: claim["status"]["allocation"] for name, claim in found.items() if has_devices(claim)}


def has_devices(claim: Document) -> bool:
    return "allocation" in claim.get("status", {})


def granted(said: Said) -> dict[str, Document]:
    """Allocations by claim that are to be written."""
    return {
        grant.claim.removeprefix(f"{SPACE}/"): json.loads(msgspec.json.encode(grant.allocation))
        for grant in said.grants
        if isinstance(grant, Allocate) and grant.allocation is not None
    }


def _shown(given: Mapping[str, Document]) -> dict[str, Document]:
    """However amounts, times and IDs of shares are spelled."""
    without_time = {
        name: {field: value for field, value in allocation.items() if field != "allocationTimestamp"}
        for name, allocation in given.items()
    }
    return {name: plain(allocation) for name, allocation in without_time.items()}

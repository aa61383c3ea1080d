"""One world from its seed to its end."""

import asyncio
import hashlib
import random
import secrets
import socket
import traceback
from collections import Counter
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

import structlog

from muster.engine.decisions import Evict
from muster.kube import reflector
from muster.local.store import log
from muster.sim.rules.broken import BrokenRuleError
from tests.system.cluster import Cluster
from tests.system.dialects import RESOURCES
from tests.system.loop import GoesInCirclesError, VirtualLoop, current
from tests.system.network import Network
from tests.system.other_scheduler import OtherScheduler
from tests.system.processes import Cores, Replica, task_factory
from tests.system.rules import Rules
from tests.system.stored import StoredRules
from tests.system.world import Hand, recipe

# longer than any time-out, backoff and run time together
_LONGEST_REST_SECONDS = 1000.0
_LOOK_SECONDS = 1.0
# bookmarks come at whole seconds, and then watches seem to lag
_REST_LOOK_SECONDS = 0.73


class Outcome(NamedTuple):
    """What became of one world."""

    seed: int
    violation: str
    """Empty if there was none."""
    rule: str
    seen: Counter
    story: list

    @property
    def digest(self):
        return hashlib.sha256("\n".join(self.story).encode()).hexdigest()


def run(seed, *, only=None, without=frozenset()):
    """Runs the world of `seed`; whatever goes wrong in it is in the outcome.  `only`: steps to do; `without`: troubles
    that it is to be spared."""
    life = _Life(seed, only, without)
    rule = violation = ""
    with _seeded(seed, life):
        loop = life.loop
        loop.set_task_factory(task_factory)
        loop.set_exception_handler(life.unhandled)
        try:
            loop.run_until_complete(life.live())
        except BrokenRuleError as broken:
            rule, violation = broken.rule, str(broken)
        except GoesInCirclesError as error:
            rule, violation = "circles", f"circles: {error}"
        except Exception as error:  # whatever breaks is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            rule = f"{type(error).__name__} at {where.filename}:{where.lineno}"
            violation = f"{rule}: {error}"
        finally:
            life.end()
    return Outcome(seed, violation, rule, life.seen, life.story)


def run_worlds(seeds):
    """What the worlds of these seeds saw, and a line for each that broke a rule."""
    seen, failures = Counter(), []
    for seed in seeds:
        outcome = run(seed)
        seen.update(outcome.seen)
        if outcome.violation:
            failures.append(f"seed {seed} failed: {outcome.violation}; replay: .venv/bin/python -m tests.system {seed}")
    return seen, failures


def shrunk(seed):
    """The world of a failing seed, without the steps that the failure does not need."""
    outcome = run(seed)
    kept = [step.number for step in recipe(seed).plan]
    size = max(1, len(kept) // 2)
    while size and outcome.rule:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            tried = run(seed, only=frozenset(fewer))
            if tried.rule == outcome.rule:
                outcome, kept = tried, fewer
                break
        else:
            size //= 2
    return outcome


@contextmanager
def _seeded(seed, life):
    """Chance, names and logs are those of the world."""
    state, token_hex, page, config = random.getstate(), secrets.token_hex, reflector.PAGE, structlog.get_config()
    host = socket.gethostname
    names = Random(f"{seed}/names")
    random.seed(seed)
    secrets.token_hex = lambda size=8: f"{names.getrandbits(8 * size):0{2 * size}x}"
    socket.gethostname = lambda: str(current.get())
    reflector.PAGE = life.recipe.page
    # few worlds write as much as it usually takes
    tidy, log._TIDY_AFTER = log._TIDY_AFTER, 50
    # whatever level others have set: what is logged is part of the story
    everything = structlog.make_filtering_bound_logger(0)
    structlog.configure(processors=[life.logged], wrapper_class=everything, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        random.setstate(state)
        secrets.token_hex, socket.gethostname, reflector.PAGE = token_hex, host, page
        log._TIDY_AFTER = tidy
        structlog.configure(**config)


class _Life:
    """A world on its way through its plan."""

    def __init__(self, seed, only, without):
        self.recipe = planned = recipe(seed, without=without)
        self.seen = Counter()
        self.story = []
        self.loop = loop = VirtualLoop()
        self._only = only
        self._failed = None
        self._calm = False
        self._preemptors = Random(f"{seed}/preemptors")
        rng = lambda name: Random(f"{seed}/{name}")  # noqa: E731
        self._rng = rng
        self.cluster = Cluster(loop, rng=rng("uids"), disk_rng=rng("disk"), planned=planned)
        self.network = Network(self.cluster, rng=rng("network"), mood=planned.mood)
        self.network.seen = self.seen
        self._other = OtherScheduler(self.cluster, rng=rng("other"), seen=self.seen)
        self.rules = Rules(self.cluster, self.network, planned, tell=self.tell)
        self.objects = StoredRules(self.cluster, self.network)
        names = ("a",) if "one replica" in planned.mood else ("a", "b")
        self.replicas = [
            Replica(
                name,
                self.network,
                rng=rng(f"replica {name}"),
                show=self._decided,
                hear=self.rules.told,
                tell=self.tell,
            )
            for name in names
        ]
        parts = [("c", True, False), ("k", False, True)] if "apart" in planned.mood else [("c", True, True)]
        self.cores = [
            Cores(
                name, self.network, rng=rng(f"cores {name}"), tell=self.tell, controllers=controllers, kubelets=kubelets
            )
            for name, controllers, kubelets in parts
        ]
        self.rules.replicas, self.rules.cores = self.replicas, self.cores
        self._hand = None
        """Makes things happen, once it is there."""

    def _decided(self, replica, decisions):
        self.rules.decided(replica, decisions)
        if "brief preemptors" not in self.recipe.mood or self._calm:
            return
        for decision in decisions:
            if isinstance(decision, Evict) and self._preemptors.random() < 0.5:
                delay = self._preemptors.choice((0.0, 0.005, 0.02, 0.1, 0.5))
                self.network.later(delay, self._delete, self._preemptors.choice(decision.after))

    def _delete(self, uid):
        pod = self.cluster.pods.get(uid)
        if pod is not None:
            self.tell(f"{pod.metadata.name} deleted, for whom others are evicted")
            self.cluster.delete(self.cluster.path(pod))

    @property
    def _processes(self):
        return (*self.replicas, *self.cores)

    # --- what is told ---

    def tell(self, text):
        self.story.append(f"{self.loop.time():9.3f}  {text}")

    def logged(self, logger, method, event):
        """A log line of production code."""
        link = current.get()
        words = event.pop("event")
        trace = event.pop("exc_info", None)
        facts = ", ".join(f"{key}={value}" for key, value in event.items())
        self.tell(f"{link or 'server'} {method}: {words} {facts}")
        if (method == "error" and "NotWritten" not in facts) or words.startswith("a bug"):
            self.fail(BrokenRuleError("no bugs", f"{link or 'server'}: {words} {facts} {trace or ''}"))
        raise structlog.DropEvent

    def fail(self, error):
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)

    def unhandled(self, loop, context):
        error = context.get("exception")
        if error is None:
            error = RuntimeError(context.get("message"))
        self.fail(error)

    # --- life ---

    async def live(self):
        loop = self.loop
        self._failed = loop.create_future()
        self.rules.fail = self.objects.fail = self.fail
        self._hand = hand = Hand(
            self.recipe,
            self.cluster,
            objects=self.objects,
            cores=self.cores,
            network=self.network,
            replicas=self.replicas,
            later=self._later,
        )
        for process in self._processes:
            process.start()
        working = loop.create_task(self._work(hand))
        await asyncio.wait([working, self._failed], return_when=asyncio.FIRST_COMPLETED)
        if self._failed.done():
            working.cancel()
            self._failed.result()
        self._failed.cancel()
        working.result()
        self.seen["worlds"] += 1

    async def _work(self, hand):
        ticking = self.loop.create_task(self._tick())
        try:
            for step in self.recipe.plan:
                await asyncio.sleep(step.at - self.loop.time())
                if self._only is None or step.number in self._only:
                    self._do(step, hand)
            await asyncio.sleep(self._rng("end").choice((0.0, 1.0, 8.0)))
            self._end_trouble(hand)
            await self._rest()
            self.rules.at_rest()
            self.objects.at_rest()
        finally:
            ticking.cancel()

    def _do(self, step, hand):
        happened = hand.do(step, self._rng(step.number))
        if happened:
            self.tell(f"[{step.number}] {happened}")
            self.seen[f"events: {step.kind}"] += 1
            self.seen["events"] += 1

    def _later(self, seconds, action, *, always=False):
        def act():
            if always or not self._calm:
                action()

        self.loop.call_later(seconds, act)

    def _end_trouble(self, hand):
        """From now on nothing fails."""
        self.tell("the trouble is over")
        self._calm = self.network.calm = True
        hand.mend(self._rng("mend"))
        for process in self._processes:
            process.link.plans.clear()
            self.loop.thaw(process.link)
            if process.link.cut:
                self.network.partition(process.link, cut=False)

    async def _tick(self):
        """What comes with time: bookmarks, and rules that look at how long something lasts."""
        at = self.recipe.bookmark_seconds
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self.loop.time() >= at:
                at += self.recipe.bookmark_seconds
                self.cluster.server.watches.bookmark()
            self.rules.look()

    async def _rest(self):
        """Returns when nothing will change any more."""
        ends = self.loop.time() + _LONGEST_REST_SECONDS
        quiet = 0
        while self.loop.time() < ends:
            await asyncio.sleep(_REST_LOOK_SECONDS)
            quiet = quiet + 1 if self._is_quiet() else 0
            if quiet >= 3:
                self.tell("quiet")
                return
        raise BrokenRuleError("rest", f"it does not come to rest: {self._unrest()}")

    def _is_quiet(self):
        return not self._unrest()

    def _unrest(self):
        """What still goes on."""
        leaders = [replica for replica in self.replicas if replica.leads]
        if len(leaders) != 1:
            return f"{len(leaders)} replicas lead"
        if self._hand.missing:
            return f"kubelets are still dead: {sorted(self._hand.missing)}"
        if self._other.pending:
            return f"the other scheduler has {self._other.pending} pods to look at"
        for dialect, kind in leaders[0].muster._informers.declaring.items():
            if kind.resource is None and self.cluster.serves(RESOURCES[dialect.name]):
                return f"{kind.name} is not read yet"
        return next((found for one in (*leaders, *self.cores) if (found := one.unrest(self.cluster.now))), "")

    def end(self):
        """Nothing of it is left."""
        loop = self.loop
        for process in self._processes:
            process._comes_back = False
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.set_exception_handler(lambda *_: None)
        for process in self._processes:
            if process.link is not None:
                process.link.alive = False
                loop.thaw(process.link)
        loop.steps = 0
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        self.cluster.close()

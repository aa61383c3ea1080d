"""Which volumes a pod gets: as kube-scheduler chooses, and where it would find none though some would do."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.volumes.choice import (
    NO_SPACE,
    NO_VOLUME,
    Bound,
    Choice,
    Market,
    Offer,
    Offers,
    Pool,
    Refused,
    choose,
    market,
)
from muster.volumes.masks import Masks, admitted
from muster.volumes.needs import Ask, Need, Provisioning, need_of
from muster.volumes.nodes import Labelled, Site
from muster.volumes.storage import Stock
from tests.volumes.builders import NOBODY_SHARES, claim, pod, site, storage, storage_class, volume

GIB = 2**30
HERE = site("here")


def chosen(asking, there, on=HERE, **more):
    """Names of volumes by claim; the market may be changed."""
    need = need_of(asking, there, NOBODY_SHARES)
    found = choose(need.asks, on, replace(market(there.volumes, there.capacities), **more))
    return found if isinstance(found, Refused) else [each.offer.volume for each in found.bound]


# --- one behaviour at a time ---


def test_the_smallest_volume_that_is_large_enough_is_taken():
    there = storage(claim("c", size="3Gi"), storage_class(), *(volume(f"v{n}", size=f"{n}Gi") for n in (9, 2, 4)))

    assert chosen(pod("c"), there) == ["v4"]


def test_equal_sizes_go_by_name():
    there = storage(claim("c"), storage_class(), volume("b"), volume("a"), volume("c"))

    assert chosen(pod("c"), there) == ["a"]


def test_a_volume_promised_to_another_is_not_taken():
    there = storage(claim("c"), storage_class(), volume("a"), volume("b"))

    assert chosen(pod("c"), there, taken={"a"}) == ["b"]
    assert chosen(pod("c"), there, taken={"a", "b"}) == Refused(NO_VOLUME)


def test_only_volumes_within_reach_of_the_node_are_taken():
    there = storage(claim("c"), storage_class(), volume("a", nodes=["elsewhere"]), volume("b", nodes=["here"]))

    assert chosen(pod("c"), there) == ["b"]
    assert chosen(pod("c"), there, site("third")) == Refused(NO_VOLUME)


def test_a_small_claim_leaves_the_volume_that_only_another_can_use():
    picky = claim("picky", size="2Gi", selector={"matchLabels": {"fast": "yes"}})
    there = storage(
        claim("any"), picky, storage_class(), volume("v2", size="2Gi", labels={"fast": "yes"}), volume("v3", size="3Gi")
    )

    assert chosen(pod("any", "picky"), there) == ["v3", "v2"]


def test_a_volume_kept_for_the_claim_is_taken_whatever_else_there_is():
    there = storage(claim("c"), storage_class(), volume("a"), volume("z", keeps="c", size="9Gi", phase="Pending"))

    assert chosen(pod("c"), there) == ["z"]
    far = storage(claim("c"), storage_class(), volume("a"), volume("z", keeps="c", nodes=["elsewhere"]))
    assert chosen(pod("c"), far) == Refused(NO_VOLUME)


def test_pods_with_claims_of_their_own_have_equal_needs():
    there = storage(claim("c0"), claim("c1"), claim("c2", size="2Gi"), storage_class())
    needs = [need_of(pod(f"c{number}"), there, NOBODY_SHARES) for number in range(3)]

    assert needs[0] == needs[1] != needs[2]
    assert hash(needs[0]) == hash(needs[1])


def test_a_claim_that_others_name_keeps_its_key_and_what_was_settled_for_it():
    there = storage(claim("c"), storage_class(), volume("a", nodes=["here"]))
    ask = need_of(pod("c"), there, NOBODY_SHARES._replace(claim=lambda key: key == "n/c")).asks[0]
    given_away = replace(market(there.volumes, {}), taken={"a"}, settled={"n/c": Offer("a", GIB, "local")})

    assert ask.shared == "n/c"
    assert choose([ask], HERE, given_away) == Choice()
    there_only = replace(given_away, settled={"n/c": "elsewhere"})
    assert choose([ask], HERE, there_only) == Refused(NO_VOLUME)


def test_claims_of_one_pod_are_summed_up_where_that_is_wanted():
    ask = Ask(storage_class="made", request_bytes=60, provisioning=Provisioning(provisioner="d", checks_capacity=True))
    pool = Pool("n/p", "made", Labelled(()), 100, 100)
    each_alone = Market(lambda _: Offers(()), lambda _: (pool,))

    assert len(choose([ask, ask], HERE, each_alone).made) == 2
    assert choose([ask, ask], HERE, replace(each_alone, promised={})) == Refused(NO_SPACE)
    assert choose([ask], HERE, replace(each_alone, promised={"n/p": 50})) == Refused(NO_SPACE)


def test_two_claims_go_where_there_are_two_volumes():
    there = storage(claim("c"), claim("d"), storage_class(), volume("a"), volume("b", nodes=["here"]))
    need = need_of(pod("c", "d"), there, NOBODY_SHARES)
    sites = [site("elsewhere"), HERE, site("third")]

    assert admitted(need, Masks(sites), market(there.volumes, {})).tolist() == [False, True, False]


def test_volumes_that_name_where_they_are_not_are_found_too():
    term = {"matchExpressions": [{"key": "host", "operator": "NotIn", "values": ["here"]}]}
    away = volume("a", nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    there = storage(claim("c"), storage_class(), away)
    need, sites = need_of(pod("c"), there, NOBODY_SHARES), [HERE, site("elsewhere"), Site("bare", {})]

    assert chosen(pod("c"), there, site("elsewhere")) == ["a"]
    assert chosen(pod("c"), there) == Refused(NO_VOLUME)
    assert admitted(need, Masks(sites), market(there.volumes, {})).tolist() == [False, True, True]


# --- against trying everything ---

HOSTS = ("a", "b", "c")
SIZES = st.integers(1, 4)
PLACES = st.none() | st.sets(st.sampled_from(HOSTS), min_size=1)


@st.composite
def stores(draw, least=0, places=PLACES):
    volumes = [
        volume(f"v{number}", size=draw(SIZES), nodes=draw(places), labels={"kind": draw(st.sampled_from("xy"))})
        for number in range(draw(st.integers(least, 4)))
    ]
    return Stock(volumes)


@st.composite
def asks(draw):
    made = Provisioning(provisioner="d", checks_capacity=True)
    picky = draw(st.none() | st.sampled_from("xy"))
    selector = None if picky is None else claim("s", selector={"matchLabels": {"kind": picky}}).spec.selector
    there = storage(claim("c", size=draw(SIZES), selector=selector and msg(selector)), storage_class())
    ask = need_of(pod("c"), there, NOBODY_SHARES).asks[0]
    return replace(ask, provisioning=draw(st.none() | st.just(made)))


def msg(selector):
    return {"matchLabels": dict(selector.match_labels)}


@st.composite
def pools(draw):
    def nodes():
        key = {"matchExpressions": [{"key": "host", "operator": "In", "values": sorted(draw(PLACES) or HOSTS)}]}
        return Labelled(
            need_of(pod("c"), storage(claim("c", selector=key), storage_class()), NOBODY_SHARES).asks[0].selector
        )

    def pool(number):
        size = draw(st.integers(1, 8))
        return Pool(f"p{number}", "local", nodes(), size, size)

    return [pool(number) for number in range(draw(st.integers(0, 2)))]


def brute(asked, on, there):
    """Whether some distribution leaves nobody without."""
    offers = [
        [o.volume for o in there.offers(ask).all if o.required is None or on.name in hosts(o.required)] for ask in asked
    ]
    for choice in itertools.product(*([*listed, None] for listed in offers)):
        taken = [name for name in choice if name is not None]
        left = [ask for ask, name in zip(asked, choice, strict=True) if name is None]
        if len(set(taken)) == len(taken) and set(taken).isdisjoint(there.taken) and can_make(left, on, there):
            return True
    return False


def hosts(selector):
    return {value for term in selector.node_selector_terms for each in term.match_expressions for value in each.values}


def can_make(left, on, there):
    return all(
        ask.provisioning is not None
        and any(p.largest_bytes >= ask.request_bytes and p.nodes.admits(on) for p in there.pools("local"))
        for ask in left
    )


WORLDS = st.tuples(stores(), st.lists(asks(), max_size=3), pools(), st.sets(st.sampled_from(["v0", "v1"])))
TIGHT = st.tuples(
    stores(2, st.none()), st.lists(asks(), min_size=2, max_size=3), st.just([]), st.just(frozenset[str]())
)
"""Claims that must have what there is: the greedy one fails in many of them without need."""
APART = st.tuples(stores(2), st.lists(asks(), min_size=2, max_size=2), st.just([]), st.just(frozenset[str]()))
"""Nodes that see different volumes."""


def market_of(stock, listed, taken):
    return replace(market(stock, {}), pools=lambda _: listed, taken=taken)


@settings(max_examples=300)
@given(WORLDS | TIGHT, st.sampled_from(HOSTS))
def test_a_refusal_is_a_proof_and_a_choice_holds(world, host):
    stock, asked, listed, taken = world
    there, on = market_of(stock, listed, taken), site(host)
    found = choose(asked, on, there)

    assert isinstance(found, Choice) == brute(asked, on, there)
    if isinstance(found, Choice):
        assert sorted([*(e.ask for e in found.bound), *(e.ask for e in found.made)]) == list(range(len(asked)))
        names = [each.offer.volume for each in found.bound]
        assert len(set(names)) == len(names)
        assert taken.isdisjoint(names)
        for each in found.bound:
            assert each.offer in there.offers(asked[each.ask]).all
            assert each.offer.required is None or host in hosts(each.offer.required)


@settings(max_examples=300)
@given(WORLDS | TIGHT | APART)
def test_all_nodes_at_once_get_the_same_answers(world):
    stock, asked, listed, taken = world
    there = market_of(stock, listed, taken)
    sites = [site(host) for host in HOSTS] * 2 + [Site("bare", {})]
    mask = admitted(Need(asks=tuple(asked)), Masks(sites), there)

    assert mask.tolist() == [isinstance(choose(asked, on, there), Choice) for on in sites]


@given(WORLDS, st.sampled_from(HOSTS), st.dictionaries(st.sampled_from(["p0", "p1"]), st.integers(0, 5)))
def test_sums_hold_where_they_are_wanted(world, host, promised):
    stock, asked, listed, taken = world
    there = replace(market_of(stock, listed, taken), promised=promised)
    found = choose(asked, site(host), there)

    if isinstance(found, Choice):
        for pool in listed:
            mine = sum(asked[each.ask].request_bytes for each in found.made if each.pool == pool)
            assert not mine or mine + promised.get(pool.key, 0) <= pool.capacity_bytes


@given(WORLDS, st.sampled_from(HOSTS))
def test_where_the_greedy_one_succeeds_its_choice_is_kept(world, host):
    stock, asked, listed, taken = world
    there, on = market_of(stock, listed, taken), site(host)
    gone, bound, rest = set(taken), {}, []
    for number in sorted(range(len(asked)), key=lambda n: asked[n].request_bytes):
        fitting = (o for o in there.offers(asked[number]).all if o.volume not in gone)
        best = next((o for o in fitting if o.required is None or host in hosts(o.required)), None)
        if best is None:
            rest.append(asked[number])
        else:
            gone.add(best.volume)
            bound[number] = best
    if can_make(rest, on, there):
        found = choose(asked, on, there)
        assert found.bound == tuple(Bound(number, offer) for number, offer in sorted(bound.items()))

"""Real API servers take what `muster convert` prints, and keep what it says of gangs."""

import json

import pytest

from muster.app.convert import TARGETS, convert
from muster.app.manifests import parse, to_yaml
from tests.control_plane.conftest import needs_native_groups
from tests.control_plane.test_crds import DEPLOY
from tests.docs.test_convert import SECTIONS, blocks

RESEARCH = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "research"},
    "value": 1000,
}


@pytest.fixture(params=[pytest.param("v1beta1", marks=needs_native_groups), "muster"])
def target(request):
    return request.param


@pytest.fixture
def cluster(request, target):
    """One that serves the target."""
    found = request.getfixturevalue("plane" if target == "v1beta1" else "stock")
    found.kubectl("apply", "-f", "-", input=json.dumps(RESEARCH))
    if target == "muster":
        found.kubectl("apply", "-k", str(DEPLOY / "crds"))
        for name in ("podgroups", "workloads"):
            found.kubectl("wait", "--for=condition=Established", f"crd/{name}.muster.dev", "--timeout=30s")
    return found


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_an_example_is_taken_and_kept(title, text, target, cluster, namespaces):
    found = convert(parse(blocks(text)[0], file="old.yaml"), target=TARGETS[target]).manifests
    namespace = namespaces.make(cluster)
    # strict: a field that the server does not know is refused instead of dropped
    options = ("--dry-run=server", "--validate=strict", "-o", "json")
    taken = cluster.kubectl("create", "-n", namespace, *options, "-f", "-", input=to_yaml(found))
    kept = [document.data for document in parse(taken, file="what kubectl says")]
    assert [(one["kind"], one["metadata"]["name"]) for one in kept] == [
        (one["kind"], one["metadata"]["name"]) for one in found
    ]
    assert [naming(one) for one in kept] == [naming(one) for one in found]


def naming(manifest):
    """How its pods name a gang, if it has any."""
    pod = manifest.get("spec", {}).get("template", manifest)
    labels = pod.get("metadata", {}).get("labels", {})
    ours = {key: text for key, text in labels.items() if key.startswith("muster.dev/")}
    return pod["spec"].get("schedulingGroup"), ours

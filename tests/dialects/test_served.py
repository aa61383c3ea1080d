"""The story of all dialects on the embedded server."""

import itertools

from controlplane.nodes import make_nodes
from muster.gangs.dialects import DIALECTS
from tests.control_plane.embedded import embedded
from tests.control_plane.muster_process import MusterProcess
from tests.control_plane.refusing_proxy import RefusingProxy
from tests.dialects.served import make_ready, scenes, tell
from tests.dialects.served_rules import REFUSED, tell_of_a_half, tell_rules
from tests.system.dialects import NATIVE, SPEECHES


def test_every_dialect_tells_it():
    assert {NATIVE.dialect, *(speech.dialect for speech in SPEECHES)} == {dialect.name for dialect in DIALECTS}


def test_one_story_in_every_dialect_on_the_embedded_server(tmp_path):
    with embedded() as plane:
        numbers = itertools.count(1)

        def namespace():
            name = f"story-{next(numbers)}"
            plane.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
            return name

        make_ready(plane)
        make_nodes(plane, 2, cpu="8")
        told = scenes(plane, namespace)
        # the embedded server itself refuses no bind of a pod that waits
        with (
            RefusingProxy(plane.kubeconfig(), refused=REFUSED) as way,
            MusterProcess(way.kubeconfig(tmp_path / "kubeconfig"), tmp_path) as muster,
        ):
            muster.wait_for("leading")
            tell_of_a_half(told)
            tell(told)
            tell_rules(plane, told)
            assert muster.stop() == 0, muster.tail()

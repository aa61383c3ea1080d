"""What `muster convert` writes makes the engine decide as what it read."""

import msgspec
import pytest

from muster.api.wire import Pod, PodGroup, read
from muster.app.convert import TARGETS, convert
from muster.app.manifests import Document
from muster.gangs.dialects import DIALECTS, is_plain, membership
from tests.dialects.speakers import SPEAKERS
from tests.dialects.test_stories import STORIES


def written(found, *, api_version, kind):
    return {"apiVersion": api_version, "kind": kind} | msgspec.to_builtins(found)


class Converted:
    """A speaker whose manifests were converted before they were applied."""

    def __init__(self, speaker, target):
        self.speaker = speaker
        self.dialect = TARGETS[target]
        self.has_object = True

    def manifests(self, minimum, **pod):
        """A gang and one pod of it."""
        timeout = pod.get("timeout")
        found = [written(self.speaker.pod(minimum=minimum, **pod), api_version="v1", kind="Pod")]
        if self.speaker.has_object:
            resource = self.speaker.dialect.resources[0]
            group = self.speaker.group(minimum, timeout=timeout)
            found.insert(0, written(group, api_version=resource.api_version, kind=resource.kind))
        got = convert(
            [Document("gang.yaml", number, data) for number, data in enumerate(found, 1)], target=self.dialect
        )
        assert got.errors == []
        *groups, pod = got.manifests
        assert {(one["apiVersion"], one["kind"]) for one in groups} == {
            (self.dialect.resources[0].api_version, "PodGroup")
        }
        key = membership(read(Pod, pod)).gang
        (group,) = (one for one in groups if f"{one['metadata']['namespace']}/{one['metadata']['name']}" == key)
        return group, pod

    def group(self, minimum, *, timeout=None, uid="one", created="2026-01-01T00:00:00Z", version="1"):
        group, _ = self.manifests(minimum, name="any", cpu=1, timeout=timeout)
        group["metadata"] |= {"uid": uid, "creationTimestamp": created, "resourceVersion": version}
        return read(PodGroup, group)

    def pod(self, name, minimum, **rest):
        _, pod = self.manifests(minimum, name=name, **rest)
        return read(Pod, pod)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_what_was_converted_tells_the_same_story(speaker, target, story):
    assert story(Converted(speaker, target)).said == story(speaker).said


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_pods_that_were_converted_speak_the_one_dialect(speaker, target):
    pod = Converted(speaker, target).pod("p0", 3, cpu=1)
    assert [dialect.name for dialect in DIALECTS if dialect.membership(pod)] == [target]


@pytest.mark.parametrize("speaker", SPEAKERS, ids=str)
def test_pods_without_the_marks_of_their_dialect_name_no_gang(speaker):
    found = msgspec.to_builtins(speaker.pod("p0", 3, cpu=1))
    pod = read(Pod, found)
    for marks in (one.marks for one in DIALECTS if one is speaker.dialect or one.membership(pod)):
        for part, names in (("labels", marks.labels), ("annotations", marks.annotations)):
            for name in names:
                found["metadata"].get(part, {}).pop(name, None)
        for name in marks.fields:
            found["spec"].pop(name, None)
    assert is_plain(read(Pod, found))
    assert membership(read(Pod, found)) is None

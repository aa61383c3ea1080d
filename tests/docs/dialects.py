"""What docs/dialects.md prints from the code: kinds, how pods name their gang, and what is said of it, by dialect."""

from typing import NamedTuple

from muster.app.dialects import brought_by_others, folder
from muster.app.install import definitions
from muster.gangs.dialects import DIALECTS, coscheduling, kai, v1alpha1, v1beta1, volcano
from muster.gangs.record import STARTED
from tests.dialects.definitions import defined
from tests.docs.printed import ROOT, between

PAGE = ROOT / "docs" / "dialects.md"
BEGIN = "<!-- printed from src/muster/gangs/dialects by `make docs`; do not edit -->"
_SINCE = {"v1alpha1": "1.35", "v1alpha2": "1.36", "v1alpha3": "1.37", "v1beta1": "1.37"}


class Naming(NamedTuple):
    """How a pod names its gang; each is a path in its spec, a label or an annotation, and what it names."""

    fields: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()


_GROUP = ((v1beta1.GROUP_LABEL, "group"),)
_SUBSET = ((v1beta1.SUBSET_LABEL, "subset"),)
_WORKLOAD = ((v1alpha1.WORKLOAD_LABEL, "workload"), (v1alpha1.GROUP_LABEL, "group"))
_SCHEDULING_GROUP = (("schedulingGroup.podGroupName", "group"),)

NAMINGS = {
    "v1beta1": Naming(fields=_SCHEDULING_GROUP, labels=_GROUP + _SUBSET),
    "v1alpha2": Naming(fields=_SCHEDULING_GROUP, labels=_GROUP + _SUBSET),
    "subsets": Naming(fields=(("podGroup.name", "group"), ("podGroup.subset", "subset")), labels=_GROUP + _SUBSET),
    "v1alpha1": Naming(
        fields=(
            ("workloadRef.name", "workload"),
            ("workloadRef.podGroup", "group"),
            ("workloadRef.podGroupReplicaKey", "replica"),
        ),
        labels=(*_WORKLOAD, (v1alpha1.REPLICA_LABEL, "replica")),
    ),
    "draft": Naming(fields=(("workload.name", "workload"), ("workload.podGroup", "group")), labels=_WORKLOAD),
    "muster": Naming(labels=_GROUP + _SUBSET),
    "coscheduling": Naming(labels=((coscheduling.LABEL, "group"),)),
    "volcano": Naming(annotations=((volcano.GROUP_ANNOTATION, "group"), (volcano.TASK_ANNOTATION, "subset"))),
    "kai": Naming(annotations=((kai.GROUP_ANNOTATION, "group"),)),
    "labels": Naming(labels=(("pod-group/name", "group"), ("pod-group/min-available", "minimum"))),
}


def reprinted(page):
    """The page with the tables as the code has them now."""
    return between(page, BEGIN, printed())


def printed():
    return "\n".join(["", *_kinds(), *_namings(), *_statuses()])


def kinds(dialect):
    """What the dialect reads, best first, and what is defined along with it."""
    along = [defined(one) for one in definitions([dialect.name])]
    return [*dialect.resources, *(one for one in along if one not in dialect.resources)]


def is_embedded(resource):
    """Whether the embedded cluster serves the kind as it comes; it is a Kubernetes 1.37."""
    return resource.group == "scheduling.k8s.io" and _SINCE[resource.version] == "1.37"


def _kinds():
    rows = [_row(dialect, resource) for dialect in DIALECTS for resource in kinds(dialect)]
    rows += [
        f"| `{one.name}` | - | - | - | nothing to serve | nothing to serve |" for one in DIALECTS if not kinds(one)
    ]
    head = "| `--dialect` | apiVersion | kind | as kubectl takes it | on `muster up` | on a real cluster |"
    return [head, "|---|---|---|---|---|---|", *rows, ""]


def _row(dialect, resource):
    name = dialect.name
    if resource.group == "scheduling.k8s.io":
        embedded = "always" if is_embedded(resource) else "-"
        real = f"Kubernetes {_SINCE[resource.version]}, where it is switched on"
    else:
        embedded = f"`muster up --dialect {name}`"
        real = brought_by_others(name).partition(",")[0] or f"`muster install --dialect {name}`"
        if folder(name) == "crds":
            real += ", or as `--crds` says"
    read = "" if resource in dialect.resources else ", which Muster does not read"
    return f"| `{name}` | {resource.api_version} | {resource.kind}{read} | `{resource.name}` | {embedded} | {real} |"


def _namings():
    rows = []
    for dialect in DIALECTS:
        fields, labels, annotations = NAMINGS[dialect.name]
        beside = [f"label {_shown(label)}" for label in labels] + [f"annotation {_shown(one)}" for one in annotations]
        written = ", ".join(f"`spec.{path}` ({what})" for path, what in fields)
        rows.append(f"| `{dialect.name}` | {written or '-'} | {', '.join(beside)} |")
    head = "| `--dialect` | field of a pod | the same beside it, for servers that drop the field |"
    return [head, "|---|---|---|", *rows, ""]


def _shown(named):
    name, what = named
    return f"`{name}` ({what})"


def _statuses():
    rows = []
    for dialect in DIALECTS:
        started = dialect.conditions.get(v1beta1.INITIALLY_SCHEDULED, v1beta1.INITIALLY_SCHEDULED)
        where = f"condition `{started}` of the object" if dialect.has_status else f"annotation `{STARTED}` of members"
        kept = "is kept by a finalizer until its pods have ended" if dialect.protects and dialect.resources else "-"
        rows.append(f"| `{dialect.name}` | {where} | `{dialect.fitting_reason}` | {kept} |")
    head = "| `--dialect` | says that the gang has started | reason of pods that would fit | an object in use |"
    return [head, "|---|---|---|---|", *rows, ""]

"""What field selectors may name, of kinds that tell more than a name: by group and plural, label → field."""

from __future__ import annotations

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _same(*labels: str) -> dict[str, str]:
    return {label: label for label in labels}


FIELD_LABELS: dict[tuple[str, str], dict[str, str]] = {
    ("", "pods"): _same(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    )
    | {"spec.host": "spec.nodeName"},
    ("", "nodes"): _same("spec.unschedulable"),
    ("", "namespaces"): _same("status.phase"),
    ("", "secrets"): _same("type"),
    ("", "services"): _same("spec.clusterIP", "spec.type"),
    ("", "events"): _same("reason", "reportingComponent", "source", "type")
    | _same(*(f"involvedObject.{part}" for part in _REFERENCE)),
    ("events.k8s.io", "events"): _same("reason", "type")
    | {"reportingController": "reportingComponent"}
    | {f"regarding.{part}": f"involvedObject.{part}" for part in _REFERENCE},
    ("batch", "jobs"): _same("status.successful"),
}

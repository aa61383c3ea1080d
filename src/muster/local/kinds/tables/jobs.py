"""`kubectl get jobs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muster.api.times import seconds
from muster.local.codec.values import Object
from muster.local.kinds.kind import Column, Table
from muster.local.kinds.tables import durations
from muster.local.kinds.tables.cells import AGE, NAME, age, name, selector, wide

__all__ = ["JOB"]


def _cells(job: Object, now: float) -> Sequence[Any]:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    containers = ((spec.get("template") or {}).get("spec") or {}).get("containers") or ()
    return (
        name(job),
        _status(job, status),
        _completions(spec, status.get("succeeded", 0)),
        _duration(status, now),
        age(job, now),
        ",".join(one["name"] for one in containers),
        ",".join(one.get("image", "") for one in containers),
        selector(spec.get("selector")),
    )


def _status(job: Object, status: Object) -> str:
    # of two conditions of one type the first counts
    conditions = {one["type"]: one["status"] == "True" for one in reversed(status.get("conditions") or ())}
    if conditions.get("Complete"):
        return "Complete"
    if conditions.get("Failed"):
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    lasting = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((one for one in lasting if conditions.get(one)), "Running")


def _completions(spec: Object, succeeded: int) -> str:
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: Object, now: float) -> str:
    if not status.get("startTime"):
        return ""
    end = seconds(status["completionTime"]) if status.get("completionTime") else now
    return durations.human(end - seconds(status["startTime"]))


JOB = Table(
    columns=(
        NAME,
        Column("Status"),
        Column("Completions"),
        Column("Duration"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ),
    cells=_cells,
)

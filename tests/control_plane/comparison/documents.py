"""What the server says of itself, and of what clients may do."""

from __future__ import annotations

from tests.control_plane.comparison.steps import JSON, TABLE, YAML, Step, create, get, titled

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def _may(name: str, spec: object, *, code: int = 201) -> Step:
    return create(
        name,
        _REVIEWS,
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec},
        code=code,
    )


STEPS = titled(
    "documents",
    get("/version", "/version"),
    get("/api", "/api"),
    get("/apis", "/apis"),
    get("/api/v1", "/api/v1"),
    get("/api, aggregated", "/api", accept=_AGGREGATED),
    get("/apis, aggregated", "/apis", accept=f"{_AGGREGATED},{JSON}"),
    get("/apis as YAML", "/apis/batch", accept=YAML),
    get("/apis as a table", "/apis/batch", accept=TABLE, code=406),
    get("/apis of odd text", "/apis", accept="text/html", code=406),
    *(
        get(f"/apis/{group}", f"/apis/{group}")
        for group in (
            "batch",
            "coordination.k8s.io",
            "policy",
            "events.k8s.io",
            "apiextensions.k8s.io",
            "authorization.k8s.io",
            "scheduling.k8s.io",
        )
    ),
    *(
        get(f"/apis/{version}", f"/apis/{version}")
        for version in (
            "batch/v1",
            "coordination.k8s.io/v1",
            "policy/v1",
            "events.k8s.io/v1",
            "apiextensions.k8s.io/v1",
            "authorization.k8s.io/v1",
            "scheduling.k8s.io/v1",
            "scheduling.k8s.io/v1beta1",
        )
    ),
    get("a group nobody serves", "/apis/example.com", code=404),
    get("a version nobody serves", "/apis/batch/v7", code=404),
    get("/api of another version", "/api/v2", code=404),
    get("/api with a slash", "/api/"),
    get("/healthz", "/healthz"),
    get("/livez", "/livez"),
    get("/readyz", "/readyz"),
    Step(name="post to a document", method="POST", path="/version", code=405, body={}),
    _may("may create pods", {"resourceAttributes": {"verb": "create", "resource": "pods", "namespace": "default"}}),
    _may("may read a path", {"nonResourceAttributes": {"verb": "get", "path": "/healthz"}}),
    _may("may do nothing named", {}, code=422),
    _may("may do both", {"resourceAttributes": {"verb": "get"}, "nonResourceAttributes": {"verb": "get"}}, code=422),
    get("reviews are not read", _REVIEWS, code=405),
)

"""Names of images: as pods write them, and as nodes list what they have."""

from __future__ import annotations

from muster.api.wire import PodSpec

__all__ = ["images_of"]


def images_of(spec: PodSpec) -> tuple[str, ...]:
    """All images of the pod, each as often as it is used, in order; empty where nobody names any."""
    volumes = (volume.image.reference for volume in spec.volumes if volume.image is not None)
    named = [container.image for container in (*spec.init_containers, *spec.containers)]
    named += volumes
    return tuple(sorted(map(_with_tag, named))) if any(named) else ()


def _with_tag(image: str) -> str:
    """As nodes spell it."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"

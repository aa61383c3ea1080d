"""Provides etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kubectl of one Kubernetes version, and
operators that make gangs.

A program found in $KUBEBUILDER_ASSETS is taken as it is. The others are built once per version with the `go` on
the PATH, from the Go modules that the projects publish, into a cache folder outside this repository: $MUSTER_CACHE,
else $XDG_CACHE_HOME/muster, else ~/.cache/muster.

Runs on a bare Python, before anything is installed: standard library only.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

KUBERNETES = "1.37.1"
"""The version whose modules are locked here. Others are resolved when they are asked for."""

ETCD = "3.6.8"
COMMANDS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
PROGRAMS = ("etcd", *COMMANDS)
"""What is built where nothing is named."""


class Operator(NamedTuple):
    """A program that makes pods and their groups, as its project publishes it."""

    version: str
    package: str
    definitions: tuple[tuple[str, str], ...]
    """Kinds that it needs: files of modules, as (module, path in it)."""


_COSCHEDULING = ("sigs.k8s.io/scheduler-plugins", "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml")
_TRAINING = "github.com/kubeflow/training-operator"
_MPI = "github.com/kubeflow/mpi-operator"
_RAY = "github.com/ray-project/kuberay/ray-operator"
OPERATORS = {
    "mpi-operator": Operator(
        "0.6.0", f"{_MPI}/cmd/mpi-operator", ((_MPI, "manifests/base/kubeflow.org_mpijobs.yaml"), _COSCHEDULING)
    ),
    "ray-operator": Operator(
        "1.4.2",
        _RAY,
        (
            *((_RAY, f"config/crd/bases/ray.io_{kind}.yaml") for kind in ("rayclusters", "rayjobs", "rayservices")),
            _COSCHEDULING,
        ),
    ),
    # its MPIJobs are of an older version and have the same name
    "training-operator": Operator(
        "1.8.1",
        f"{_TRAINING}/cmd/training-operator.v1",
        (
            (_TRAINING, "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"),
            _COSCHEDULING,
        ),
    ),
}

_HERE = Path(__file__).parent
_SECONDS_BETWEEN_PROGRESS = 10


class BuildError(Exception):
    """What is missing, in one line."""


def cache_folder() -> Path:
    if chosen := os.environ.get("MUSTER_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"


def program(name: str, version: str) -> Path:
    """Where a program is, or would be once built."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (given := Path(assets) / name).exists():
        return given
    if name in OPERATORS:
        return _operator_folder(name) / name
    folder = f"etcd-{ETCD}" if name == "etcd" else f"kubernetes-{version}"
    return cache_folder() / "control-plane" / folder / name


def definitions(operator: str) -> list[Path]:
    """Files with the kinds that an operator needs, there once it is built."""
    return [_operator_folder(operator) / Path(path).name for _, path in OPERATORS[operator].definitions]


def _operator_folder(name: str) -> Path:
    return cache_folder() / "control-plane" / f"{name}-{OPERATORS[name].version}"


def missing(names: Sequence[str], version: str) -> list[str]:
    return [name for name in names if not program(name, version).exists()]


def provide(names: Sequence[str], version: str) -> None:
    """Build those of the programs that are not there yet."""
    lacking = missing(names, version)
    if not lacking:
        return
    if shutil.which("go") is None:
        raise BuildError(
            f"missing {', '.join(lacking)}: put Go on the PATH to build them, "
            "or name a folder that has them in KUBEBUILDER_ASSETS"
        )
    if "etcd" in lacking:
        with _Workspace(f"etcd-{ETCD}") as work:
            _copy_locked(_HERE / "modules" / "etcd", work)
            _build(work, {"go.etcd.io/etcd/server/v3": program("etcd", version)}, stamp=())
    for name in sorted(OPERATORS.keys() & lacking):
        with _Workspace(name) as work:
            _copy_locked(_HERE / "modules" / name, work)
            for (module, path), definition in zip(OPERATORS[name].definitions, definitions(name), strict=True):
                definition.parent.mkdir(parents=True, exist_ok=True)
                # without the mode of Go's cache, where nothing may be written
                shutil.copyfile(_module_folder(work, module) / path, definition)
            _build(work, {OPERATORS[name].package: program(name, version)}, stamp=())
    if commands := [name for name in lacking if name in COMMANDS]:
        with _Workspace(f"kubernetes-{version}") as work:
            if version == KUBERNETES:
                _copy_locked(_HERE / "modules" / "kubernetes", work)
            else:
                _resolve(work, version)
            targets = {f"k8s.io/kubernetes/cmd/{name}": program(name, version) for name in commands}
            _build(work, targets, stamp=_version_stamp(version))


class _Workspace:
    """A folder for one build, gone afterwards: what is kept is the programs and Go's own caches."""

    def __init__(self, name: str) -> None:
        self._folder = cache_folder() / "control-plane" / f".build-{name}-{os.getpid()}"

    def __enter__(self) -> Path:
        self._folder.mkdir(parents=True)
        return self._folder

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _copy_locked(source: Path, work: Path) -> None:
    for name in ("go.mod", "go.sum", "programs.go"):
        shutil.copy(source / name, work / name)


def _module_folder(work: Path, module: str) -> Path:
    return Path(json.loads(_go(work, "mod", "download", "-json", module))["Dir"])


def _resolve(work: Path, version: str) -> None:
    """Write the module files for a version.

    Kubernetes publishes its staging modules under a version of their own (1.36.3 is 0.36.3) and replaces them by
    folders in its go.mod; `go` heeds the replace lines of the main module only, so ours names them all.
    """
    _say(f"Resolving the modules of Kubernetes {version} ...")
    (work / "go.mod").write_text("module muster.dev/controlplane/resolving\n")
    found = _go(work, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}")
    upstream = Path(json.loads(found)["GoMod"]).read_text()
    staging = sorted(set(re.findall(r"^\s*(\S+) => \./staging/", upstream, re.MULTILINE)))
    language = re.search(r"^go (\S+)$", upstream, re.MULTILINE)
    if not staging or language is None:
        raise BuildError(f"the go.mod of Kubernetes {version} is not of the shape that is expected here")
    library = "0." + version.split(".", 1)[1]
    lines = [
        "module muster.dev/controlplane/kubernetes",
        "",
        f"go {language[1]}",
        "",
        f"require k8s.io/kubernetes v{version}",
        "",
        "replace (",
        *(f"\t{name} => {name} v{library}" for name in staging),
        ")",
        "",
    ]
    (work / "go.mod").write_text("\n".join(lines))
    shutil.copy(_HERE / "modules" / "kubernetes" / "programs.go", work / "programs.go")
    _go(work, "mod", "tidy")


def _version_stamp(version: str) -> tuple[str, ...]:
    """Without it a program calls itself v0.0.0-master, and checks of compatible versions see minor 0."""
    major, minor, _ = version.split(".")
    facts = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return tuple(f"-X {package}.{name}={value}" for package in packages for name, value in facts.items())


def _build(work: Path, targets: dict[str, Path], *, stamp: Sequence[str]) -> None:
    """Build main packages, and put each at its place whole: a build that is cut off leaves nothing."""
    names = ", ".join(path.name for path in targets.values())
    _say(f"Building {names} (minutes on a new machine, seconds from Go's cache) ...")
    listing = _go(work, "list", "-deps", *targets)
    total = len(listing.splitlines())
    out = work / "bin"
    out.mkdir()
    flags = " ".join(("-s -w", *stamp))
    command = ["go", "build", "-v", "-trimpath", "-ldflags", flags, "-o", f"{out}/", *targets]
    done, told, said = 0, time.monotonic(), []
    with subprocess.Popen(command, cwd=work, env=_environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            said.append(line)
            done += 1
            if time.monotonic() - told >= _SECONDS_BETWEEN_PROGRESS:
                told = time.monotonic()
                _say(f"  {done} of at most {total} packages compiled")
    if process.returncode:
        raise BuildError(f"go build failed: {''.join(said[-10:]).strip()}")
    for package, path in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        built = out / ("server" if package.endswith("server/v3") else package.rsplit("/", 1)[1])
        built.replace(path)
        _say(f"  {path}")


def _go(work: Path, *arguments: str) -> str:
    done = subprocess.run(["go", *arguments], cwd=work, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"go {' '.join(arguments[:2])} failed: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION", help=f"default: {KUBERNETES}")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"default: all of {', '.join(PROGRAMS)}")
    options = parser.parse_args()
    if not re.fullmatch(r"1\.\d+\.\d+", options.kubernetes):
        parser.error(f"not a Kubernetes version: {options.kubernetes!r}; write it as {KUBERNETES}")
    known = (*PROGRAMS, *OPERATORS)
    if unknown := [name for name in options.programs if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known are {', '.join(known)}")
    names = options.programs or PROGRAMS
    try:
        provide(names, options.kubernetes)
    except BuildError as error:
        _say(f"control-plane: {error}")
        return 1
    for name in names:
        print(program(name, options.kubernetes))
    return 0


if __name__ == "__main__":
    sys.exit(main())

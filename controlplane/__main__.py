"""`python -m controlplane up`: a control plane by hand, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from contextlib import ExitStack

from controlplane import build
from controlplane.kubelet import Kubelets
from controlplane.nodes import make_nodes
from controlplane.plane import ControlPlane
from muster.app import logs
from muster.base.errors import MusterError


def main() -> int:
    options = _parser().parse_args()
    logs.configure(level="warning")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _up(options)
    except MusterError as error:
        print(f"control-plane: {error}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nGone.", file=sys.stderr)
    return 0


def _up(options: argparse.Namespace) -> None:
    begin = time.monotonic()
    with ExitStack() as stack:
        plane = ControlPlane(version=options.kubernetes, gates=options.gates, controllers=options.controllers)
        stack.enter_context(plane)
        if options.scheduler:
            plane.start_scheduler()
        if options.nodes:
            make_nodes(plane, options.nodes)
            stack.enter_context(Kubelets(plane))
        print(f"Kubernetes {plane.version} is up after {time.monotonic() - begin:.1f} s. In another terminal:\n")
        print(f"  export KUBECONFIG={plane.kubeconfig()}")
        print(f"  {build.program('kubectl', plane.version)} get nodes\n")
        print(f"Logs are in {plane.folder}. Ctrl-C ends it and removes them.", flush=True)
        signal.pause()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m controlplane", description="A Kubernetes control plane on loopback."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start one and keep it until Ctrl-C")
    up.add_argument("--kubernetes", default=build.KUBERNETES, metavar="VERSION", help=f"default: {build.KUBERNETES}")
    kind = up.add_mutually_exclusive_group()
    kind.add_argument("--gates", action="store_true", default=True, help="with the gang API (default)")
    kind.add_argument("--stock", action="store_false", dest="gates", help="as clusters come, without the gang API")
    up.add_argument("--controllers", action="store_true", help="with kube-controller-manager: Jobs get their pods")
    up.add_argument("--scheduler", action="store_true", help="with kube-scheduler")
    up.add_argument("--nodes", type=int, default=0, metavar="N", help="nodes, and stand-ins for their kubelets")
    return parser


if __name__ == "__main__":
    sys.exit(main())

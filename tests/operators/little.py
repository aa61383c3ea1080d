"""`muster up` in the place of a control plane."""

import json

from controlplane.process import PlaneError
from tests.control_plane.kubectl.client import Kubectl


class LittleCluster:
    """Takes kubectl's commands, and requests that read, as a ControlPlane does."""

    def __init__(self, kubeconfig, folder):
        self._kubeconfig = kubeconfig
        self._kubectl = Kubectl(kubeconfig, folder)

    def kubeconfig(self, *_):
        return self._kubeconfig

    def kubectl(self, *arguments, input=None):
        ran = self._kubectl.run(*arguments, given=input)
        if ran.code:
            raise PlaneError(f"kubectl {' '.join(arguments)} failed: {ran.complained.strip()}", code=ran.code)
        return ran.said

    def exchange(self, method, path):
        assert method == "GET"
        ran = self._kubectl.run("get", "--raw", path)
        return (404, ran.complained) if ran.code else (200, json.loads(ran.said))

    def items(self, path):
        return self.exchange("GET", path)[1]["items"]

"""Pods that are refused: what kube-apiserver 1.37.1 said to the same objects."""

from __future__ import annotations

import pytest

from muster.local.kinds.pods import pods
from tests.local.answers import edited, promised, rows
from tests.local.flow import Subject, created

SUBJECT = Subject(pods.STRATEGY, "api.core.v1.Pod")
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}

METADATA_AND_CONTAINERS = r"""
metadata.name="P"
    metadata.name: Invalid value: "P": <subdomain>
metadata.name="a"*254
    metadata.name: Invalid value: "<a*254>": must be no more than 253 characters
metadata.name="a..b"
    metadata.name: Invalid value: "a..b": <subdomain>
metadata.name="a.b"; spec.containers=[]
    spec.containers: Required value
metadata.labels={"a b":"c"}
    metadata.labels: Invalid value: "a b": <key>
spec.containers=[]
    spec.containers: Required value
spec.containers=
    spec.containers: Required value
spec.containers.0.name=
    spec.containers[0].name: Required value
spec.containers.0.name="C"
    spec.containers[0].name: Invalid value
spec.containers.0.name="a.b"
    spec.containers[0].name: Invalid value
spec.containers.0.name="c_d"
    spec.containers[0].name: Invalid value
spec.containers.0.name="a"*64
    spec.containers[0].name: Invalid value
spec.containers.1={"name":"c","image":"y"}
    spec.containers[1].name: Duplicate value
spec.containers.1={"image":"y"}; spec.containers.2={"image":"y"}
    spec.containers[1].name: Required value
    spec.containers[2].name: Required value
    spec.containers[2].name: Duplicate value
spec.containers.0.image=
    spec.containers[0].image: Required value
spec.containers.0.image=" x"
    spec.containers[0].image: Invalid value
spec.containers.0.imagePullPolicy="Sometimes"
    spec.containers[0].imagePullPolicy: Unsupported value
spec.containers.0.ports=[{}]
    spec.containers[0].ports[0].containerPort: Required value
spec.containers.0.ports=[{"containerPort":0}]
    spec.containers[0].ports[0].containerPort: Required value
spec.containers.0.ports=[{"containerPort":65536}]
    spec.containers[0].ports[0].containerPort: Invalid value
spec.containers.0.ports=[{"containerPort":-1}]
    spec.containers[0].ports[0].containerPort: Invalid value
spec.containers.0.ports=[{"containerPort":80,"protocol":"tcp"}]
    spec.containers[0].ports[0].protocol: Unsupported value
spec.containers.0.ports=[{"containerPort":80,"name":"web"},{"containerPort":81,"name":"web"}]
    spec.containers[0].ports[1].name: Duplicate value
spec.containers.0.ports=[{"containerPort":80,"name":"Web"}]
    spec.containers[0].ports[0].name: Invalid value
spec.containers.0.ports=[{"containerPort":80,"name":"a-name-that-is-too-long"}]
    spec.containers[0].ports[0].name: Invalid value
spec.containers.0.ports=[{"containerPort":80,"name":"80"}]
    spec.containers[0].ports[0].name: Invalid value
spec.containers.0.ports=[{"containerPort":80,"name":"-a--b-"}]
    spec.containers[0].ports[0].name: Invalid value
spec.containers.0.env=[{"name":"A=B"}]
    spec.containers[0].env[0].name: Invalid value
spec.containers.0.env=[{"value":"x"}]
    spec.containers[0].env[0].name: Required value
spec.containers.0.env=[{"name":"ä"}]
    spec.containers[0].env[0].name: Invalid value
spec.containers.0.env=[{"name":"A","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]
    spec.containers[0].env[0].valueFrom: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{}}]
    spec.containers[0].env[0].valueFrom: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"},"secretKeyRef":{"name":"s","key":"k"}}}]
    spec.containers[0].env[0].valueFrom: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.whoops"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name","apiVersion":"v2"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a b']"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name['a']"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.gpu"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"2"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"2Mi"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.hugepages-2Mi","divisor":"3Mi"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"requests.ephemeral-storage","divisor":"1m"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"m"}}}]
    spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"configMapKeyRef":{"key":"k"}}}]
    spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"secretKeyRef":{"name":"S","key":"a/b"}}}]
    spec.containers[0].env[0].valueFrom.secretKeyRef.name: Invalid value
    spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"..k"}}}]
    spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value
spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k","volumeName":"v","path":"a/../b"}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found
spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found
spec.containers.0.envFrom=[{}]
    spec.containers[0].envFrom: Invalid value
spec.containers.0.envFrom=[{"prefix":"a=","configMapRef":{"name":"m"}}]
    spec.containers[0].envFrom[0].prefix: Invalid value
spec.containers.0.envFrom=[{"configMapRef":{}}]
    spec.containers[0].envFrom[0].configMapRef.name: Required value
spec.containers.0.envFrom=[{"secretRef":{"name":"S"}}]
    spec.containers[0].envFrom[0].secretRef.name: Invalid value
spec.containers.0.envFrom=[{"configMapRef":{"name":"m"},"secretRef":{"name":"s"}}]
    spec.containers[0].envFrom: Invalid value
"""

RESOURCES = r"""
spec.containers.0.resources={"requests":{"cpu":"2"},"limits":{"cpu":"1"}}
    spec.containers[0].resources.requests: Invalid value
spec.containers.0.resources={"requests":{"memory":"1Gi"},"limits":{"memory":"1G"}}
    spec.containers[0].resources.requests: Invalid value
spec.containers.0.resources={"requests":{"cpu":"-1"}}
    spec.containers[0].resources.requests[cpu]: Invalid value
spec.containers.0.resources={"limits":{"memory":"-1Gi"}}
    spec.containers[0].resources.limits[memory]: Invalid value
    spec.containers[0].resources.requests[memory]: Invalid value
spec.containers.0.resources={"requests":{"gpu":"1"}}
    spec.containers[0].resources.requests[gpu]: Invalid value
spec.containers.0.resources={"requests":{"pods":"1"}}
    spec.containers[0].resources.requests[pods]: Invalid value
spec.containers.0.resources={"requests":{"a b":"1"}}
    spec.containers[0].resources.requests[a b]: Invalid value
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"1"}}
    spec.containers[0].resources.limits: Required value
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"1500m"}}
    spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value
    spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"0.5"},"requests":{"nvidia.com/gpu":"0.5"}}
    spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value
    spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}}
    spec.containers[0].resources.requests: Invalid value
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"3"},"limits":{"nvidia.com/gpu":"2"}}
    spec.containers[0].resources.requests: Invalid value
spec.containers.0.resources={"limits":{"kubernetes.io/gpu":"1500m","x.y/-":"1"}}
    spec.containers[0].resources.limits[x.y/-]: Invalid value
    spec.containers[0].resources.requests[x.y/-]: Invalid value
spec.containers.0.resources={"limits":{"requests.example.com/x":"1"}}
    spec.containers[0].resources.limits[requests.example.com/x]: Invalid value
    spec.containers[0].resources.requests[requests.example.com/x]: Invalid value
spec.containers.0.resources={"limits":{"hugepages-2Mi":"2Mi"}}
    spec.containers[0].resources: Forbidden
spec.containers.0.resources={"limits":{"hugepages-2Mi":"3Mi","cpu":"1"}}
    spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value
    spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value
spec.containers.0.resources={"limits":{"hugepages-2Mi":"4Mi","cpu":"1"},"requests":{"hugepages-2Mi":"2Mi"}}
    spec.containers[0].resources.requests: Invalid value
spec.containers.0.resources={"limits":{"hugepages-x":"4Mi","cpu":"1"}}
    spec.containers[0].resources.limits[hugepages-x]: Invalid value
    spec.containers[0].resources.requests[hugepages-x]: Invalid value
spec.containers.0.resources={"requests":{"hugepages-2Mi":"2Mi","cpu":"1"}}
    spec.containers[0].resources.limits: Required value
spec.containers.0.resources={"claims":[{"name":"x"}]}
    spec.containers[0].resources.claims[0]: Not found
spec.containers.0.resources={"claims":[{"name":"a"},{"name":"a"},{}]}; spec.resourceClaims=[{"name":"a","resourceClaimName":"r"}]
    spec.containers[0].resources.claims[1]: Duplicate value
    spec.containers[0].resources.claims[2]: Required value
spec.resourceClaims=[{"name":"a"}]
    spec.resourceClaims[0]: Invalid value
spec.resourceClaims=[{"name":"a","resourceClaimName":"R","resourceClaimTemplateName":"t"},{"name":"a","resourceClaimName":"r"},{"resourceClaimName":"r"}]
    spec.resourceClaims[0]: Invalid value
    spec.resourceClaims[0].resourceClaimName: Invalid value
    spec.resourceClaims[1].name: Duplicate value
    spec.resourceClaims[2].name: Required value
spec.containers.0.resizePolicy=[{"resourceName":"gpu","restartPolicy":"NotRequired"}]
    spec.containers[0].resizePolicy: Unsupported value
spec.containers.0.resizePolicy=[{"resourceName":"cpu","restartPolicy":"Never"}]
    spec.containers[0].resizePolicy: Unsupported value
spec.restartPolicy="Never"; spec.containers.0.resizePolicy=[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]
    spec.containers[0].resizePolicy: Invalid value
spec.resources={"requests":{"cpu":"1"}}; spec.containers.0.resources={"requests":{"cpu":"2"}}
    spec.resources.requests[cpu]: Invalid value
spec.resources={"limits":{"cpu":"1"}}; spec.containers.0.resources={"limits":{"cpu":"2"}}
    spec.resources.requests: Invalid value
    spec.resources.containers[0][cpu].limits: Invalid value
spec.resources={"limits":{"nvidia.com/gpu":"1"}}
    spec.resources.limits[nvidia.com/gpu]: Unsupported value
spec.resources={"requests":{"cpu":"2"},"limits":{"cpu":"1"}}
    spec.resources.requests: Invalid value
spec.overhead={"cpu":"-1"}
    spec.overhead.limits[cpu]: Invalid value
spec.initContainers=[{"name":"i","image":"x","resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]}]
    spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value
spec.ephemeralContainers=[{"name":"c","image":"x","targetContainerName":"z","ports":[{"containerPort":1}],"resources":{"limits":{"cpu":"1"}}}]
    spec.ephemeralContainers[0].name: Duplicate value
    spec.ephemeralContainers[0].targetContainerName: Not found
    spec.ephemeralContainers[0].ports: Forbidden
    spec.ephemeralContainers[0].resources: Forbidden
    spec.ephemeralContainers: Forbidden
spec.volumes=[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"0"}}}}}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value
"""  # noqa: E501

PROBES_AND_OTHERS = r"""
spec.containers.0.image="x "; spec.initContainers=[{"name":"i","image":" y"}]
    spec.containers[0].image: Invalid value
    spec.initContainers[0].image: Invalid value
spec.containers.0.terminationMessagePolicy="Maybe"
    spec.containers[0].terminationMessagePolicy: Unsupported value
spec.containers.0.ports=[{"containerPort":80,"hostPort":70000}]
    spec.containers[0].ports[0].hostPort: Invalid value
spec.containers.0.ports=[{"containerPort":80,"hostPort":80},{"containerPort":81,"hostPort":80}]
    spec.containers[0].ports[1].hostPort: Duplicate value
spec.containers.0.ports=[{"containerPort":80,"hostPort":80}]; spec.containers.1={"name":"d","image":"x","ports":[{"containerPort":8080,"hostPort":80}]}
    spec.containers[1].ports[0].hostPort: Duplicate value
spec.containers.0.ports=[{"containerPort":80,"hostPort":80,"hostIP":"1.1.1.1"},{"containerPort":81,"hostPort":80,"hostIP":"1.1.1.1"}]
    spec.containers[0].ports[1].hostPort: Duplicate value
spec.hostNetwork=true; spec.containers.0.ports=[{"containerPort":80,"hostPort":81}]
    spec.containers[0].ports[0].hostPort: Invalid value
spec.initContainers=[{"name":"c","image":"x"}]
    spec.initContainers[0].name: Duplicate value
spec.initContainers=[{"name":"i","image":"x"},{"name":"i","image":"x"}]
    spec.initContainers[1].name: Duplicate value
spec.initContainers=[{"name":"i"}]
    spec.initContainers[0].image: Required value
spec.initContainers=[{"name":"i","image":"x","livenessProbe":{"exec":{"command":["a"]}},"lifecycle":{"preStop":{"exec":{"command":["a"]}}}}]
    spec.initContainers[0].lifecycle: Forbidden
    spec.initContainers[0].livenessProbe: Forbidden
spec.initContainers=[{"name":"i","image":"x","restartPolicy":"Sometimes"}]
    spec.initContainers[0].restartPolicy: Unsupported value
spec.initContainers=[{"name":"i","image":"x","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]}]
    spec.initContainers[0].restartPolicy: Required value
spec.containers.0.restartPolicy="Maybe"
    spec.containers[0].restartPolicy: Unsupported value
spec.containers.0.restartPolicy="Never"; spec.containers.0.restartPolicyRules=[{"action":"Stop"},{"action":"Restart","exitCodes":{"operator":"Is","values":[1]}}]
    spec.containers[0].restartPolicyRules[0].action: Unsupported value
    spec.containers[0].restartPolicyRules[0].exitCodes: Required value
    spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value
spec.ephemeralContainers=[{"name":"e","image":"x"}]
    spec.ephemeralContainers: Forbidden
spec.restartPolicy="always"
    spec.restartPolicy: Unsupported value
spec.dnsPolicy="none"
    spec.dnsPolicy: Unsupported value
spec.dnsPolicy="None"
    spec.dnsConfig: Required value
spec.dnsPolicy="None"; spec.dnsConfig={}
    spec.dnsConfig.nameservers: Required value
spec.dnsConfig={"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]}
    spec.dnsConfig.nameservers: Invalid value
spec.dnsConfig={"nameservers":["01.1.1.1","x","::ffff:1.2.3.4"]}
    spec.dnsConfig.nameservers[0]: Invalid value
    spec.dnsConfig.nameservers[1]: Invalid value
    spec.dnsConfig.nameservers[2]: Invalid value
spec.dnsConfig={"searches":["A","b_.c."],"options":[{"value":"1"}]}
    spec.dnsConfig.searches[0]: Invalid value
    spec.dnsConfig.searches[1]: Invalid value
    spec.dnsConfig.options[0]: Required value
spec.dnsConfig.searches=["a"]*33
    spec.dnsConfig.searches: Invalid value
spec.hostname="A.b"
    spec.hostname: Invalid value
spec.hostname="a.b"
    spec.hostname: Invalid value
spec.subdomain="b_c"
    spec.subdomain: Invalid value
spec.hostnameOverride="A"; spec.hostNetwork=true
    spec.hostnameOverride: Forbidden
    spec.hostnameOverride: Invalid value
spec.hostAliases=[{"ip":"300.1.1.1","hostnames":["A","b"]}]
    spec.hostAliases[0].ip: Invalid value
    spec.hostAliases[0].hostnames[0]: Invalid value
spec.hostAliases=[{"hostnames":["a"]}]
    spec.hostAliases[0].ip: Invalid value
spec.serviceAccountName="A"
    spec.serviceAccountName: Invalid value
spec.serviceAccount="B"
    spec.serviceAccountName: Invalid value
spec.activeDeadlineSeconds=0
    spec.activeDeadlineSeconds: Invalid value
spec.activeDeadlineSeconds=2147483648
    spec.activeDeadlineSeconds: Invalid value
spec.terminationGracePeriodSeconds=-3; spec.containers.0.lifecycle={"preStop":{"sleep":{"seconds":2}}}
    spec.containers[0].lifecycle.preStop.sleep: Invalid value
spec.containers.0.livenessProbe={}
    spec.containers[0].livenessProbe: Required value
spec.containers.0.livenessProbe={"exec":{}}
    spec.containers[0].livenessProbe.exec.command: Required value
spec.containers.0.livenessProbe={"exec":{"command":["a"]},"tcpSocket":{"port":80}}
    spec.containers[0].livenessProbe.tcpSocket: Forbidden
spec.containers.0.livenessProbe={"httpGet":{"port":0}}
    spec.containers[0].livenessProbe.httpGet.port: Invalid value
spec.containers.0.livenessProbe={"httpGet":{"port":"Web","scheme":"ftp","httpHeaders":[{"name":"a b"}]}}
    spec.containers[0].livenessProbe.httpGet.port: Invalid value
    spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value
    spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value
spec.containers.0.livenessProbe={"httpGet":{"port":80},"successThreshold":2}
    spec.containers[0].livenessProbe.successThreshold: Invalid value
spec.containers.0.readinessProbe={"tcpSocket":{"port":99999},"periodSeconds":-1,"terminationGracePeriodSeconds":1}
    spec.containers[0].readinessProbe.tcpSocket.port: Invalid value
    spec.containers[0].readinessProbe.periodSeconds: Invalid value
    spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value
spec.containers.0.startupProbe={"grpc":{"port":0},"initialDelaySeconds":-1,"terminationGracePeriodSeconds":0,"failureThreshold":-2}
    spec.containers[0].startupProbe.grpc.port: Invalid value
    spec.containers[0].startupProbe.initialDelaySeconds: Invalid value
    spec.containers[0].startupProbe.failureThreshold: Invalid value
    spec.containers[0].startupProbe.terminationGracePeriodSeconds: Invalid value
spec.containers.0.lifecycle={"postStart":{}}
    spec.containers[0].lifecycle.postStart: Required value
spec.containers.0.lifecycle={"preStop":{"sleep":{"seconds":31}}}
    spec.containers[0].lifecycle.preStop.sleep: Invalid value
spec.containers.0.lifecycle={"preStop":{"exec":{"command":["a"]},"httpGet":{"port":1}}}
    spec.containers[0].lifecycle.preStop.httpGet: Forbidden
spec.readinessGates=[{"conditionType":"a b"}]
    spec.readinessGates[0].conditionType: Invalid value
"""  # noqa: E501

VOLUMES = r"""
spec.volumes=[{"name":"v","hostPath":{"path":"/x"}}]; spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k","volumeName":"v","path":"b"}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value
spec.volumes=[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}}]
    spec.volumes[1].name: Duplicate value
spec.volumes=[{"emptyDir":{}}]
    spec.volumes[0].name: Required value
spec.volumes=[{"name":"V"}]
    spec.volumes[0].name: Invalid value
spec.volumes=[{"name":"v","emptyDir":{"sizeLimit":"-1"}}]
    spec.volumes[0].emptyDir.sizeLimit: Forbidden
spec.volumes=[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}}]
    spec.volumes[0].hostPath: Forbidden
spec.volumes=[{"name":"v","configMap":{},"secret":{"secretName":"s"},"downwardAPI":{}}]
    spec.volumes[0].downwardAPI: Forbidden
    spec.volumes[0].configMap: Forbidden
spec.volumes=[{"name":"v","hostPath":{"path":""}}]
    spec.volumes[0].hostPath.path: Required value
spec.volumes=[{"name":"v","hostPath":{"path":"/a/../b","type":"Dir"}}]
    spec.volumes[0].hostPath.path: Invalid value
    spec.volumes[0].hostPath.type: Unsupported value
spec.volumes=[{"name":"v","secret":{"defaultMode":512}}]
    spec.volumes[0].secret.secretName: Required value
    spec.volumes[0].secret.defaultMode: Invalid value
spec.volumes=[{"name":"v","secret":{"secretName":"s","items":[{"key":"","path":"/x"},{"key":"k","path":"../x"},{"key":"k","path":"..x","mode":-1}]}}]
    spec.volumes[0].secret.items[0].key: Required value
    spec.volumes[0].secret.items[0].path: Invalid value
    spec.volumes[0].secret.items[1].path: Invalid value
    spec.volumes[0].secret.items[2].path: Invalid value
    spec.volumes[0].secret.items[2].mode: Invalid value
spec.volumes=[{"name":"v","configMap":{"name":"m","items":[{"key":"k"}]}}]
    spec.volumes[0].configMap.items[0].path: Required value
spec.volumes=[{"name":"v","configMap":{"defaultMode":-1}}]
    spec.volumes[0].configMap.name: Required value
    spec.volumes[0].configMap.defaultMode: Invalid value
spec.volumes=[{"name":"v","persistentVolumeClaim":{"claimName":""}}]
    spec.volumes[0].persistentVolumeClaim.claimName: Required value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p"}]}}]
    spec.volumes[0].downwardAPI: Required value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"","fieldRef":{"fieldPath":"spec.nodeName"}}]}}]
    spec.volumes[0].downwardAPI.path: Required value
    spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"resource":"limits.cpu"}}]}}]
    spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"resource":"limits.cpu","containerName":"c"},"fieldRef":{"fieldPath":"metadata.name"}}]}}]
    spec.volumes[0].downwardAPI: Invalid value
spec.volumes=[{"name":"v","projected":{"sources":[{"secret":{"name":""},"configMap":{"name":"m"}}]}}]
    spec.volumes[0].projected.sources[0].secret.name: Required value
    spec.volumes[0].projected.sources[0]: Forbidden
spec.volumes=[{"name":"v","projected":{"defaultMode":9999,"sources":[{"secret":{"name":"s","items":[{"key":"k","path":"p"}]}},{"configMap":{"name":"m","items":[{"key":"k","path":"p"}]}}]}}]
    spec.volumes[0].projected.defaultMode: Invalid value
    spec.volumes[0].projected: Invalid value
spec.volumes=[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"","expirationSeconds":5}}]}}]
    spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value
    spec.volumes[0].projected.path: Required value
    spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden
spec.volumes=[{"name":"v","projected":{"sources":[{"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.x"}}]}}]}}]
    spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Invalid value
spec.volumes=[{"name":"v","nfs":{"server":"","path":"x"}}]
    spec.volumes[0].nfs.server: Required value
    spec.volumes[0].nfs.path: Invalid value
spec.volumes=[{"name":"v","csi":{"driver":""}}]
    spec.volumes[0].csi.driver: Required value
spec.volumes=[{"name":"v","image":{}}]
    spec.volumes[0].image.reference: Required value
spec.volumes=[{"name":"v","ephemeral":{}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate: Required value
spec.volumes=[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOncePod","X","ReadWriteOnce"]}}}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Forbidden
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value
spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[0].name: Not found
spec.containers.0.volumeMounts=[{}]
    spec.containers[0].volumeMounts[0].name: Required value
    spec.containers[0].volumeMounts[0].name: Not found
    spec.containers[0].volumeMounts[0].mountPath: Required value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"},{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[1].mountPath: Invalid value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":""}]
    spec.containers[0].volumeMounts[0].mountPath: Required value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","subPath":"/a"},{"name":"v","mountPath":"/y","subPath":"a/..","subPathExpr":"../b"}]
    spec.containers[0].volumeMounts.subPath: Invalid value
    spec.containers[0].volumeMounts[1].subPathExpr: Invalid value
    spec.containers[0].volumeMounts.subPathExpr: Invalid value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","mountPropagation":"Bidirectional"},{"name":"v","mountPath":"/y","mountPropagation":"Both"}]
    spec.containers[0].volumeMounts.mountPropagation: Forbidden
    spec.containers[0].volumeMounts.mountPropagation: Unsupported value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","recursiveReadOnly":"Enabled","mountPropagation":"HostToContainer"},{"name":"v","mountPath":"/y","recursiveReadOnly":"Yes"}]
    spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden
    spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeDevices=[{"name":"v","devicePath":"/dev/x"},{"name":"w","devicePath":""}]
    spec.containers[0].volumeDevices[0].name: Invalid value
    spec.containers[0].volumeDevices[1].name: Not found
    spec.containers[0].volumeDevices[1].devicePath: Required value
spec.volumes=[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]; spec.containers.0.volumeDevices=[{"name":"v","devicePath":"/x"},{"name":"v","devicePath":"/x"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[0].name: Invalid value
    spec.containers[0].volumeMounts[0].mountPath: Invalid value
    spec.containers[0].volumeDevices[0].name: Invalid value
    spec.containers[0].volumeDevices[0].devicePath: Invalid value
    spec.containers[0].volumeDevices[1].name: Invalid value
    spec.containers[0].volumeDevices[1].devicePath: Invalid value
"""  # noqa: E501

SCHEDULING = r"""
spec.nodeName="N_1"
    spec.nodeName: Invalid value
spec.nodeName="n"; spec.schedulingGates=[{"name":"a"}]
    spec.nodeName: Forbidden
spec.nodeSelector={"a b":"c"}
    spec.nodeSelector: Invalid value
spec.nodeSelector={"a":"b c"}
    spec.nodeSelector: Invalid value
spec.nodeSelector={"a/b/c":"d"}
    spec.nodeSelector: Invalid value
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In"},{"key":"a","operator":"Exists","values":["x"]},{"key":"a","operator":"Gt","values":["1","2"]},{"key":"","operator":"Is"}]}]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Required value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].operator: Invalid value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].key: Invalid value
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["x y"]}],"matchFields":[{"key":"metadata.name","operator":"In","values":["a","B"]},{"key":"spec.x","operator":"Exists"}]}]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Required value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[1]: Invalid value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].operator: Invalid value
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].key: Invalid value
spec.affinity.nodeAffinity={"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0,"preference":{"matchExpressions":[{"key":"a b","operator":"In","values":["x y"]}]}},{"weight":101,"preference":{}}]}
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: Invalid value
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: Invalid value
spec.affinity.podAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"a":"b c"}}}]}
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: Invalid value
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value
spec.affinity.podAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a b","namespaces":["A"],"labelSelector":{"matchExpressions":[{"key":"a","operator":"In"},{"key":"b","operator":"Exists","values":["c"]},{"key":"c","operator":"Gt","values":["1"]}]}}]}
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values: Required value
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[1].values: Forbidden
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[2].operator: Invalid value
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value
spec.affinity.podAffinity={"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":200,"podAffinityTerm":{"topologyKey":""}}]}
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value
spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a"]}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden
metadata.labels={"a":"1"}; spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a"],"mismatchLabelKeys":["a"],"labelSelector":{"matchLabels":{"a":"1"}}}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value
spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a b"],"labelSelector":{}}],"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"topologyKey":"z","namespaceSelector":{"matchLabels":{"/":"x"}}}}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector.matchLabels: Invalid value
spec.tolerations=[{}]
    spec.tolerations[0].operator: Invalid value
spec.tolerations=[{"key":"a b"}]
    spec.tolerations[0].key: Invalid value
spec.tolerations=[{"key":"a","operator":"Exists","value":"x"}]
    spec.tolerations[0].operator: Invalid value
spec.tolerations=[{"key":"a","operator":"Is"}]
    spec.tolerations[0].operator: Unsupported value
spec.tolerations=[{"key":"a","operator":"Gt","value":"1"}]
    spec.tolerations[0].operator: Unsupported value
spec.tolerations=[{"key":"a","value":"x y"}]
    spec.tolerations[0].operator: Invalid value
spec.tolerations=[{"key":"a","effect":"Never"}]
    spec.tolerations[0].effect: Unsupported value
spec.tolerations=[{"key":"a","effect":"NoSchedule","tolerationSeconds":5}]
    spec.tolerations[0].effect: Invalid value
spec.tolerations=[{"operator":"Equal","value":"x"}]
    spec.tolerations[0].operator: Invalid value
spec.topologySpreadConstraints=[{}]
    spec.topologySpreadConstraints[0].maxSkew: Invalid value
    spec.topologySpreadConstraints[0].topologyKey: Required value
    spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value
spec.topologySpreadConstraints=[{"maxSkew":-1,"topologyKey":"z","whenUnsatisfiable":"Never"}]
    spec.topologySpreadConstraints[0].maxSkew: Invalid value
    spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]
    spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway","minDomains":0,"nodeAffinityPolicy":"Maybe","nodeTaintsPolicy":"No"}]
    spec.topologySpreadConstraints[0].minDomains: Invalid value
    spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value
    spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"]}]
    spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden
metadata.labels={"a":"1"}; spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"],"labelSelector":{"matchLabels":{"a":"x","b":"y z"}}}]
    spec.topologySpreadConstraints[0][0]: Invalid value
    spec.topologySpreadConstraints[0].labelSelector.matchLabels: Invalid value
spec.schedulingGates=[{"name":"a b"},{"name":"c"},{"name":"c"}]
    spec.schedulingGates[0]: Invalid value
    spec.schedulingGates[2]: Duplicate value
spec.schedulingGates=[{}]
    spec.schedulingGates[0]: Invalid value
spec.schedulingGroup={}
    spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`
spec.schedulingGroup={"podGroupName":""}
    spec.schedulingGroup.podGroupName: Invalid value: "": <subdomain>
spec.schedulingGroup={"podGroupName":"G_1"}
    spec.schedulingGroup.podGroupName: Invalid value: "G_1": <subdomain>
metadata.name="P"; spec.containers.0.image=; spec.restartPolicy="x"; spec.tolerations=[{"key":"a b"}]; spec.nodeSelector={"-":"x"}
    metadata.name: Invalid value: "P": <subdomain>
    spec.containers[0].image: Required value
    spec.restartPolicy: Unsupported value
    spec.nodeSelector: Invalid value
    spec.tolerations[0].key: Invalid value
"""  # noqa: E501

SECURITY = r"""
spec.shareProcessNamespace=true; spec.hostPID=true
    spec.shareProcessNamespace: Invalid value
spec.hostUsers=false; spec.hostNetwork=true; spec.hostPID=true; spec.hostIPC=true
    spec.hostNetwork: Forbidden
    spec.HostPID: Forbidden
    spec.HostIPC: Forbidden
spec.os={"name":"dos"}
    spec.os: Unsupported value
spec.os={}
    spec.os.name: Required value
spec.os={"name":"linux"}; spec.containers.0.securityContext={"windowsOptions":{"runAsUserName":"a"}}
    spec.containers[0].securityContext.windowsOptions: Forbidden
spec.os={"name":"windows"}; spec.securityContext={"runAsUser":1,"fsGroup":2}; spec.hostPID=true; spec.containers.0.securityContext={"readOnlyRootFilesystem":true}
    spec.securityContext.fsGroup: Forbidden
    spec.securityContext.runAsUser: Forbidden
    spec.hostPID: Forbidden
    spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden
spec.securityContext={"runAsUser":-1,"runAsGroup":-2,"fsGroup":2147483648,"supplementalGroups":[1,-1]}
    spec.securityContext.fsGroup: Invalid value
    spec.securityContext.runAsUser: Invalid value
    spec.securityContext.runAsGroup: Invalid value
    spec.securityContext.supplementalGroups[1]: Invalid value
spec.securityContext={"fsGroupChangePolicy":"Never","supplementalGroupsPolicy":"X","seLinuxChangePolicy":"Y"}
    spec.securityContext.fsGroupChangePolicy: Unsupported value
    spec.securityContext.supplementalGroupsPolicy: Unsupported value
    spec.securityContext.seLinuxChangePolicy: Unsupported value
spec.securityContext={"seccompProfile":{"type":"Local"},"appArmorProfile":{"type":""}}
    spec.securityContext.seccompProfile.type: Unsupported value
    spec.securityContext.appArmorProfile.type: Required value
spec.securityContext={"seccompProfile":{"type":"Localhost"},"appArmorProfile":{"type":"Localhost"}}
    spec.securityContext.seccompProfile.localhostProfile: Required value
    spec.securityContext.appArmorProfile.localhostProfile: Required value
spec.securityContext={"seccompProfile":{"type":"Unconfined","localhostProfile":"x"},"appArmorProfile":{"type":"Unconfined","localhostProfile":"x"}}
    spec.securityContext.seccompProfile.localhostProfile: Invalid value
    spec.securityContext.appArmorProfile.localhostProfile: Invalid value
spec.securityContext={"sysctls":[{"name":"A","value":"1"},{"name":"net.a","value":"1"},{"name":"net.a","value":"1"},{"value":"2"}]}; spec.hostNetwork=true
    spec.securityContext.sysctls[0].name: Invalid value
    spec.securityContext.sysctls[1].name: Invalid value
    spec.securityContext.sysctls[2].name: Duplicate value
    spec.securityContext.sysctls[2].name: Invalid value
    spec.securityContext.sysctls[3].name: Required value
spec.containers.0.securityContext={"runAsUser":-1,"runAsGroup":-1,"procMount":"Wild"}
    spec.containers[0].securityContext.runAsUser: Invalid value
    spec.containers[0].securityContext.runAsGroup: Invalid value
    spec.containers[0].securityContext.procMount: Unsupported value
spec.containers.0.securityContext={"procMount":"Unmasked"}
    spec.containers[0].securityContext.procMount: Invalid value
spec.containers.0.securityContext={"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}}
    spec.containers[0].securityContext: Invalid value
spec.containers.0.securityContext={"seccompProfile":{"type":"Localhost","localhostProfile":"/a/.."}}
    spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value
metadata.annotations={"kubernetes.io/config.mirror":"x"}
    metadata.annotations[kubernetes.io/config.mirror]: Invalid value
metadata.annotations={"controller.kubernetes.io/pod-deletion-cost":"+5"}
    metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value
metadata.annotations={"seccomp.security.alpha.kubernetes.io/pod":"x"}
    metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value
metadata.annotations={"container.apparmor.security.beta.kubernetes.io/z":"x"}
    metadata.annotations[container.apparmor.security.beta.kubernetes.io/z]: Invalid value
"""  # noqa: E501

TABLES = METADATA_AND_CONTAINERS, RESOURCES, PROBES_AND_OTHERS, VOLUMES, SCHEDULING, SECURITY


@pytest.mark.parametrize(("change", "answer"), [row for table in TABLES for row in rows(table)])
def test_a_bad_pod_is_refused_for_the_fields_and_reasons_of_kubernetes(change, answer):
    _, errors = created(SUBJECT, edited(POD, change))
    assert promised(errors) == promised(answer)


def test_a_good_pod_is_not_refused():
    assert created(SUBJECT, POD)[1] == []


@pytest.mark.parametrize("text", ["[1]", "{}", "[" * 100_000, '[{"key": 5}]', "x"])
def test_an_annotation_that_is_no_list_of_tolerations_is_refused(text):
    annotated = {**POD, "metadata": {"name": "p", "annotations": {"scheduler.alpha.kubernetes.io/tolerations": text}}}
    assert promised(created(SUBJECT, annotated)[1])[0].startswith("metadata.annotations: Invalid value")

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
    spec.containers[0].name: Invalid value: "C": <label>
spec.containers.0.name="a.b"
    spec.containers[0].name: Invalid value: "a.b": must not contain dots
spec.containers.0.name="c_d"
    spec.containers[0].name: Invalid value: "c_d": <label>
spec.containers.0.name="a"*64
    spec.containers[0].name: Invalid value: "<a*64>": must be no more than 63 characters
spec.containers.1={"name":"c","image":"y"}
    spec.containers[1].name: Duplicate value: "c"
spec.containers.1={"image":"y"}; spec.containers.2={"image":"y"}
    spec.containers[1].name: Required value
    spec.containers[2].name: Required value
    spec.containers[2].name: Duplicate value: ""
spec.containers.0.image=
    spec.containers[0].image: Required value
spec.containers.0.image=" x"
    spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace
spec.containers.0.imagePullPolicy="Sometimes"
    spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"
spec.containers.0.ports=[{}]
    spec.containers[0].ports[0].containerPort: Required value
spec.containers.0.ports=[{"containerPort":0}]
    spec.containers[0].ports[0].containerPort: Required value
spec.containers.0.ports=[{"containerPort":65536}]
    spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive
spec.containers.0.ports=[{"containerPort":-1}]
    spec.containers[0].ports[0].containerPort: Invalid value: -1: must be between 1 and 65535, inclusive
spec.containers.0.ports=[{"containerPort":80,"protocol":"tcp"}]
    spec.containers[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"
spec.containers.0.ports=[{"containerPort":80,"name":"web"},{"containerPort":81,"name":"web"}]
    spec.containers[0].ports[1].name: Duplicate value: "web"
spec.containers.0.ports=[{"containerPort":80,"name":"Web"}]
    spec.containers[0].ports[0].name: Invalid value: "Web": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)
spec.containers.0.ports=[{"containerPort":80,"name":"a-name-that-is-too-long"}]
    spec.containers[0].ports[0].name: Invalid value: "a-name-that-is-too-long": must be no more than 15 characters
spec.containers.0.ports=[{"containerPort":80,"name":"80"}]
    spec.containers[0].ports[0].name: Invalid value: "80": must contain at least one letter (a-z)
spec.containers.0.ports=[{"containerPort":80,"name":"-a--b-"}]
    spec.containers[0].ports[0].name: Invalid value: "-a--b-": must not contain consecutive hyphens
    spec.containers[0].ports[0].name: Invalid value: "-a--b-": must not begin or end with a hyphen
spec.containers.0.env=[{"name":"A=B"}]
    spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='
spec.containers.0.env=[{"value":"x"}]
    spec.containers[0].env[0].name: Required value
spec.containers.0.env=[{"name":"ä"}]
    spec.containers[0].env[0].name: Invalid value: "ä": a valid environment variable name must consist only of printable ASCII characters other than '='
spec.containers.0.env=[{"name":"A","value":"x","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]
    spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty
spec.containers.0.env=[{"name":"A","valueFrom":{}}]
    spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"},"secretKeyRef":{"name":"s","key":"k"}}}]
    spec.containers[0].env[0].valueFrom: Invalid value: "": may not have more than one field specified at a time
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.phase"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.whoops"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.whoops": error converting fieldPath: field label not supported: metadata.whoops
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name","apiVersion":"v2"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a b']"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef: Invalid value: "a b": <key>
spec.containers.0.env=[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name['a']"}}}]
    spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field label does not support subscript: metadata.name['a']
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.gpu"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"2"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.memory","divisor":"2Mi"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"limits.hugepages-2Mi","divisor":"3Mi"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.hugepages-2Mi": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the hugepages resource
spec.containers.0.env=[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"requests.ephemeral-storage","divisor":"1m"}}}]
    spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "requests.ephemeral-storage": only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the local ephemeral storage resource
spec.containers.0.env=[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"m"}}}]
    spec.containers[0].env[0].valueFrom.configMapKeyRef.key: Required value
spec.containers.0.env=[{"name":"A","valueFrom":{"configMapKeyRef":{"key":"k"}}}]
    spec.containers[0].env[0].valueFrom.configMapKeyRef.name: Invalid value: "": <subdomain>
spec.containers.0.env=[{"name":"A","valueFrom":{"secretKeyRef":{"name":"S","key":"a/b"}}}]
    spec.containers[0].env[0].valueFrom.secretKeyRef.name: Invalid value: "S": <subdomain>
    spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: "a/b": <config-key>
spec.containers.0.env=[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"..k"}}}]
    spec.containers[0].env[0].valueFrom.secretKeyRef.key: Invalid value: "..k": must not start with '..'
spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k","volumeName":"v","path":"a/../b"}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "a/../b": must not contain '..'
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"
spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.key: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.path: Required value
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: ""
spec.containers.0.envFrom=[{}]
    spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`
spec.containers.0.envFrom=[{"prefix":"a=","configMapRef":{"name":"m"}}]
    spec.containers[0].envFrom[0].prefix: Invalid value: "a=": a valid environment variable name must consist only of printable ASCII characters other than '='
spec.containers.0.envFrom=[{"configMapRef":{}}]
    spec.containers[0].envFrom[0].configMapRef.name: Required value
spec.containers.0.envFrom=[{"secretRef":{"name":"S"}}]
    spec.containers[0].envFrom[0].secretRef.name: Invalid value: "S": <subdomain>
spec.containers.0.envFrom=[{"configMapRef":{"name":"m"},"secretRef":{"name":"s"}}]
    spec.containers[0].envFrom: Invalid value: "": may not have more than one field specified at a time
"""  # noqa: E501

RESOURCES = r"""
spec.containers.0.resources={"requests":{"cpu":"2"},"limits":{"cpu":"1"}}
    spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
spec.containers.0.resources={"requests":{"memory":"1Gi"},"limits":{"memory":"1G"}}
    spec.containers[0].resources.requests: Invalid value: "1Gi": must be less than or equal to memory limit of 1G
spec.containers.0.resources={"requests":{"cpu":"-1"}}
    spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0
spec.containers.0.resources={"limits":{"memory":"-1Gi"}}
    spec.containers[0].resources.limits[memory]: Invalid value: "-1Gi": must be greater than or equal to 0
    spec.containers[0].resources.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0
spec.containers.0.resources={"requests":{"gpu":"1"}}
    spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified
    spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": must be a standard resource for containers
spec.containers.0.resources={"requests":{"pods":"1"}}
    spec.containers[0].resources.requests[pods]: Invalid value: "pods": must be a standard resource for containers
spec.containers.0.resources={"requests":{"a b":"1"}}
    spec.containers[0].resources.requests[a b]: Invalid value: "a b": <key>
    spec.containers[0].resources.requests[a b]: Invalid value: "a b": must be a standard resource for containers
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"1"}}
    spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"1500m"}}
    spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "1500m": must be an integer
    spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "1500m": must be an integer
spec.containers.0.resources={"limits":{"nvidia.com/gpu":"0.5"},"requests":{"nvidia.com/gpu":"0.5"}}
    spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer
    spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}}
    spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2
spec.containers.0.resources={"requests":{"nvidia.com/gpu":"3"},"limits":{"nvidia.com/gpu":"2"}}
    spec.containers[0].resources.requests: Invalid value: "3": must be equal to nvidia.com/gpu limit of 2
spec.containers.0.resources={"limits":{"kubernetes.io/gpu":"1500m","x.y/-":"1"}}
    spec.containers[0].resources.limits[x.y/-]: Invalid value: "x.y/-": <key>
    spec.containers[0].resources.limits[x.y/-]: Invalid value: "x.y/-": doesn't follow extended resource name standard
    spec.containers[0].resources.requests[x.y/-]: Invalid value: "x.y/-": <key>
    spec.containers[0].resources.requests[x.y/-]: Invalid value: "x.y/-": doesn't follow extended resource name standard
spec.containers.0.resources={"limits":{"requests.example.com/x":"1"}}
    spec.containers[0].resources.limits[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn't follow extended resource name standard
    spec.containers[0].resources.requests[requests.example.com/x]: Invalid value: "requests.example.com/x": doesn't follow extended resource name standard
spec.containers.0.resources={"limits":{"hugepages-2Mi":"2Mi"}}
    spec.containers[0].resources: Forbidden: HugePages require cpu or memory
spec.containers.0.resources={"limits":{"hugepages-2Mi":"3Mi","cpu":"1"}}
    spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi
    spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi
spec.containers.0.resources={"limits":{"hugepages-2Mi":"4Mi","cpu":"1"},"requests":{"hugepages-2Mi":"2Mi"}}
    spec.containers[0].resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi
spec.containers.0.resources={"limits":{"hugepages-x":"4Mi","cpu":"1"}}
    spec.containers[0].resources.limits[hugepages-x]: Invalid value: "4Mi": 4Mi is not positive integer multiple of hugepages-x
    spec.containers[0].resources.requests[hugepages-x]: Invalid value: "4Mi": 4Mi is not positive integer multiple of hugepages-x
spec.containers.0.resources={"requests":{"hugepages-2Mi":"2Mi","cpu":"1"}}
    spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources
spec.containers.0.resources={"claims":[{"name":"x"}]}
    spec.containers[0].resources.claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty
spec.containers.0.resources={"claims":[{"name":"a"},{"name":"a"},{}]}; spec.resourceClaims=[{"name":"a","resourceClaimName":"r"}]
    spec.containers[0].resources.claims[1]: Duplicate value: "a"
    spec.containers[0].resources.claims[2]: Required value
spec.resourceClaims=[{"name":"a"}]
    spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`
spec.resourceClaims=[{"name":"a","resourceClaimName":"R","resourceClaimTemplateName":"t"},{"name":"a","resourceClaimName":"r"},{"resourceClaimName":"r"}]
    spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":"R","ResourceClaimTemplateName":"t"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified
    spec.resourceClaims[0].resourceClaimName: Invalid value: "R": <subdomain>
    spec.resourceClaims[1].name: Duplicate value: "a"
    spec.resourceClaims[2].name: Required value
spec.containers.0.resizePolicy=[{"resourceName":"gpu","restartPolicy":"NotRequired"}]
    spec.containers[0].resizePolicy: Unsupported value: "gpu": supported values: "cpu", "memory"
spec.containers.0.resizePolicy=[{"resourceName":"cpu","restartPolicy":"Never"}]
    spec.containers[0].resizePolicy: Unsupported value: "Never": supported values: "NotRequired", "RestartContainer"
spec.restartPolicy="Never"; spec.containers.0.resizePolicy=[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]
    spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be 'NotRequired' when pod `restartPolicy` is 'Never'
spec.resources={"requests":{"cpu":"1"}}; spec.containers.0.resources={"requests":{"cpu":"2"}}
    spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2
spec.resources={"limits":{"cpu":"1"}}; spec.containers.0.resources={"limits":{"cpu":"2"}}
    spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
    spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1
spec.resources={"limits":{"nvidia.com/gpu":"1"}}
    spec.resources.limits[nvidia.com/gpu]: Unsupported value: "nvidia.com/gpu": supported values: "cpu", "hugepages-", "memory"
spec.resources={"requests":{"cpu":"2"},"limits":{"cpu":"1"}}
    spec.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
spec.overhead={"cpu":"-1"}
    spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0
spec.initContainers=[{"name":"i","image":"x","resizePolicy":[{"resourceName":"cpu","restartPolicy":"RestartContainer"}]}]
    spec.initContainers[0].resizePolicy[0].restartPolicy: Invalid value: "RestartContainer": must not be set to 'RestartContainer' for non-sidecar initContainers
spec.ephemeralContainers=[{"name":"c","image":"x","targetContainerName":"z","ports":[{"containerPort":1}],"resources":{"limits":{"cpu":"1"}}}]
    spec.ephemeralContainers[0].name: Duplicate value: "c"
    spec.ephemeralContainers[0].targetContainerName: Not found: "z"
    spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container
    spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container
    spec.ephemeralContainers: Forbidden: cannot be set on create
spec.volumes=[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"0"}}}}}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Invalid value: "0": must be greater than zero
"""  # noqa: E501

PROBES_AND_OTHERS = r"""
spec.containers.0.image="x "; spec.initContainers=[{"name":"i","image":" y"}]
    spec.containers[0].image: Invalid value: "x ": must not have leading or trailing whitespace
    spec.initContainers[0].image: Invalid value: " y": must not have leading or trailing whitespace
spec.containers.0.terminationMessagePolicy="Maybe"
    spec.containers[0].terminationMessagePolicy: Unsupported value: "Maybe": supported values: "File", "FallbackToLogsOnError"
spec.containers.0.ports=[{"containerPort":80,"hostPort":70000}]
    spec.containers[0].ports[0].hostPort: Invalid value: 70000: must be between 1 and 65535, inclusive
spec.containers.0.ports=[{"containerPort":80,"hostPort":80},{"containerPort":81,"hostPort":80}]
    spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//80"
spec.containers.0.ports=[{"containerPort":80,"hostPort":80}]; spec.containers.1={"name":"d","image":"x","ports":[{"containerPort":8080,"hostPort":80}]}
    spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"
spec.containers.0.ports=[{"containerPort":80,"hostPort":80,"hostIP":"1.1.1.1"},{"containerPort":81,"hostPort":80,"hostIP":"1.1.1.1"}]
    spec.containers[0].ports[1].hostPort: Duplicate value: "TCP/1.1.1.1/80"
spec.hostNetwork=true; spec.containers.0.ports=[{"containerPort":80,"hostPort":81}]
    spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true
spec.initContainers=[{"name":"c","image":"x"}]
    spec.initContainers[0].name: Duplicate value: "c"
spec.initContainers=[{"name":"i","image":"x"},{"name":"i","image":"x"}]
    spec.initContainers[1].name: Duplicate value: "i"
spec.initContainers=[{"name":"i"}]
    spec.initContainers[0].image: Required value
spec.initContainers=[{"name":"i","image":"x","livenessProbe":{"exec":{"command":["a"]}},"lifecycle":{"preStop":{"exec":{"command":["a"]}}}}]
    spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always
    spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always
spec.initContainers=[{"name":"i","image":"x","restartPolicy":"Sometimes"}]
    spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"
spec.initContainers=[{"name":"i","image":"x","restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[1]}}]}]
    spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used
spec.containers.0.restartPolicy="Maybe"
    spec.containers[0].restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"
spec.containers.0.restartPolicy="Never"; spec.containers.0.restartPolicyRules=[{"action":"Stop"},{"action":"Restart","exitCodes":{"operator":"Is","values":[1]}}]
    spec.containers[0].restartPolicyRules[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"
    spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified
    spec.containers[0].restartPolicyRules[1].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"
spec.ephemeralContainers=[{"name":"e","image":"x"}]
    spec.ephemeralContainers: Forbidden: cannot be set on create
spec.restartPolicy="always"
    spec.restartPolicy: Unsupported value: "always": supported values: "Always", "OnFailure", "Never"
spec.dnsPolicy="none"
    spec.dnsPolicy: Unsupported value: "none": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"
spec.dnsPolicy="None"
    spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None
spec.dnsPolicy="None"; spec.dnsConfig={}
    spec.dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None
spec.dnsConfig={"nameservers":["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]}
    spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers
spec.dnsConfig={"nameservers":["01.1.1.1","x","::ffff:1.2.3.4"]}
    spec.dnsConfig.nameservers[0]: Invalid value: "01.1.1.1": must not have leading 0s
    spec.dnsConfig.nameservers[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
    spec.dnsConfig.nameservers[2]: Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address
spec.dnsConfig={"searches":["A","b_.c."],"options":[{"value":"1"}]}
    spec.dnsConfig.searches[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')
    spec.dnsConfig.searches[1]: Invalid value: "b_.c": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')
    spec.dnsConfig.options[0]: Required value: must not be empty
spec.dnsConfig.searches=["a"]*33
    spec.dnsConfig.searches: Invalid value: ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"]: must not have more than 32 search paths
spec.hostname="A.b"
    spec.hostname: Invalid value: "A.b": <label>
spec.hostname="a.b"
    spec.hostname: Invalid value: "a.b": must not contain dots
spec.subdomain="b_c"
    spec.subdomain: Invalid value: "b_c": <label>
spec.hostnameOverride="A"; spec.hostNetwork=true
    spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true
    spec.hostnameOverride: Invalid value: "A": <subdomain>
spec.hostAliases=[{"ip":"300.1.1.1","hostnames":["A","b"]}]
    spec.hostAliases[0].ip: Invalid value: "300.1.1.1": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
    spec.hostAliases[0].hostnames[0]: Invalid value: "A": <subdomain>
spec.hostAliases=[{"hostnames":["a"]}]
    spec.hostAliases[0].ip: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)
spec.serviceAccountName="A"
    spec.serviceAccountName: Invalid value: "A": <subdomain>
spec.serviceAccount="B"
    spec.serviceAccountName: Invalid value: "B": <subdomain>
spec.activeDeadlineSeconds=0
    spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive
spec.activeDeadlineSeconds=2147483648
    spec.activeDeadlineSeconds: Invalid value: 2147483648: must be between 1 and 2147483647, inclusive
spec.terminationGracePeriodSeconds=-3; spec.containers.0.lifecycle={"preStop":{"sleep":{"seconds":2}}}
    spec.containers[0].lifecycle.preStop.sleep: Invalid value: 2: must be non-negative and less than terminationGracePeriodSeconds (1)
spec.containers.0.livenessProbe={}
    spec.containers[0].livenessProbe: Required value: must specify a handler type
spec.containers.0.livenessProbe={"exec":{}}
    spec.containers[0].livenessProbe.exec.command: Required value
spec.containers.0.livenessProbe={"exec":{"command":["a"]},"tcpSocket":{"port":80}}
    spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type
spec.containers.0.livenessProbe={"httpGet":{"port":0}}
    spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive
spec.containers.0.livenessProbe={"httpGet":{"port":"Web","scheme":"ftp","httpHeaders":[{"name":"a b"}]}}
    spec.containers[0].livenessProbe.httpGet.port: Invalid value: "Web": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)
    spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "ftp": supported values: "HTTP", "HTTPS"
    spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')
spec.containers.0.livenessProbe={"httpGet":{"port":80},"successThreshold":2}
    spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1
spec.containers.0.readinessProbe={"tcpSocket":{"port":99999},"periodSeconds":-1,"terminationGracePeriodSeconds":1}
    spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: 99999: must be between 1 and 65535, inclusive
    spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0
    spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes
spec.containers.0.startupProbe={"grpc":{"port":0},"initialDelaySeconds":-1,"terminationGracePeriodSeconds":0,"failureThreshold":-2}
    spec.containers[0].startupProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive
    spec.containers[0].startupProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0
    spec.containers[0].startupProbe.failureThreshold: Invalid value: -2: must be greater than or equal to 0
    spec.containers[0].startupProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0
spec.containers.0.lifecycle={"postStart":{}}
    spec.containers[0].lifecycle.postStart: Required value: must specify a handler type
spec.containers.0.lifecycle={"preStop":{"sleep":{"seconds":31}}}
    spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)
spec.containers.0.lifecycle={"preStop":{"exec":{"command":["a"]},"httpGet":{"port":1}}}
    spec.containers[0].lifecycle.preStop.httpGet: Forbidden: may not specify more than 1 handler type
spec.readinessGates=[{"conditionType":"a b"}]
    spec.readinessGates[0].conditionType: Invalid value: "a b": <key>
"""  # noqa: E501

VOLUMES = r"""
spec.volumes=[{"name":"v","hostPath":{"path":"/x"}}]; spec.containers.0.env=[{"name":"A","valueFrom":{"fileKeyRef":{"key":"k","volumeName":"v","path":"b"}}}]
    spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir
spec.volumes=[{"name":"v","emptyDir":{}},{"name":"v","emptyDir":{}}]
    spec.volumes[1].name: Duplicate value: "v"
spec.volumes=[{"emptyDir":{}}]
    spec.volumes[0].name: Required value
spec.volumes=[{"name":"V"}]
    spec.volumes[0].name: Invalid value: "V": <label>
spec.volumes=[{"name":"v","emptyDir":{"sizeLimit":"-1"}}]
    spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity
spec.volumes=[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}}]
    spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type
spec.volumes=[{"name":"v","configMap":{},"secret":{"secretName":"s"},"downwardAPI":{}}]
    spec.volumes[0].downwardAPI: Forbidden: may not specify more than 1 volume type
    spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type
spec.volumes=[{"name":"v","hostPath":{"path":""}}]
    spec.volumes[0].hostPath.path: Required value
spec.volumes=[{"name":"v","hostPath":{"path":"/a/../b","type":"Dir"}}]
    spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'
    spec.volumes[0].hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"
spec.volumes=[{"name":"v","secret":{"defaultMode":512}}]
    spec.volumes[0].secret.secretName: Required value
    spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive
spec.volumes=[{"name":"v","secret":{"secretName":"s","items":[{"key":"","path":"/x"},{"key":"k","path":"../x"},{"key":"k","path":"..x","mode":-1}]}}]
    spec.volumes[0].secret.items[0].key: Required value
    spec.volumes[0].secret.items[0].path: Invalid value: "/x": must be a relative path
    spec.volumes[0].secret.items[1].path: Invalid value: "../x": must not contain '..'
    spec.volumes[0].secret.items[2].path: Invalid value: "..x": must not start with '..'
    spec.volumes[0].secret.items[2].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive
spec.volumes=[{"name":"v","configMap":{"name":"m","items":[{"key":"k"}]}}]
    spec.volumes[0].configMap.items[0].path: Required value
spec.volumes=[{"name":"v","configMap":{"defaultMode":-1}}]
    spec.volumes[0].configMap.name: Required value
    spec.volumes[0].configMap.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive
spec.volumes=[{"name":"v","persistentVolumeClaim":{"claimName":""}}]
    spec.volumes[0].persistentVolumeClaim.claimName: Required value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p"}]}}]
    spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"","fieldRef":{"fieldPath":"spec.nodeName"}}]}}]
    spec.volumes[0].downwardAPI.path: Required value
    spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"resource":"limits.cpu"}}]}}]
    spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value
spec.volumes=[{"name":"v","downwardAPI":{"items":[{"path":"p","resourceFieldRef":{"resource":"limits.cpu","containerName":"c"},"fieldRef":{"fieldPath":"metadata.name"}}]}}]
    spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously
spec.volumes=[{"name":"v","projected":{"sources":[{"secret":{"name":""},"configMap":{"name":"m"}}]}}]
    spec.volumes[0].projected.sources[0].secret.name: Required value
    spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source
spec.volumes=[{"name":"v","projected":{"defaultMode":9999,"sources":[{"secret":{"name":"s","items":[{"key":"k","path":"p"}]}},{"configMap":{"name":"m","items":[{"key":"k","path":"p"}]}}]}}]
    spec.volumes[0].projected.defaultMode: Invalid value: 9999: must be a number between 0 and 0777 (octal), both inclusive
    spec.volumes[0].projected: Invalid value: "m": conflicting duplicate paths
spec.volumes=[{"name":"v","projected":{"sources":[{"serviceAccountToken":{"path":"","expirationSeconds":5}}]}}]
    spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes
    spec.volumes[0].projected.path: Required value
    spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set
spec.volumes=[{"name":"v","projected":{"sources":[{"downwardAPI":{"items":[{"path":"p","fieldRef":{"fieldPath":"metadata.x"}}]}}]}}]
    spec.volumes[0].projected.sources[0].downwardAPI.fieldRef.fieldPath: Invalid value: "metadata.x": error converting fieldPath: field label not supported: metadata.x
spec.volumes=[{"name":"v","nfs":{"server":"","path":"x"}}]
    spec.volumes[0].nfs.server: Required value
    spec.volumes[0].nfs.path: Invalid value: "x": must be an absolute path
spec.volumes=[{"name":"v","csi":{"driver":""}}]
    spec.volumes[0].csi.driver: Required value
spec.volumes=[{"name":"v","image":{}}]
    spec.volumes[0].image.reference: Required value
spec.volumes=[{"name":"v","ephemeral":{}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate: Required value
spec.volumes=[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOncePod","X","ReadWriteOnce"]}}}}]
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes
    spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value
spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[0].name: Not found: "v"
spec.containers.0.volumeMounts=[{}]
    spec.containers[0].volumeMounts[0].name: Required value
    spec.containers[0].volumeMounts[0].name: Not found: ""
    spec.containers[0].volumeMounts[0].mountPath: Required value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"},{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":""}]
    spec.containers[0].volumeMounts[0].mountPath: Required value
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","subPath":"/a"},{"name":"v","mountPath":"/y","subPath":"a/..","subPathExpr":"../b"}]
    spec.containers[0].volumeMounts.subPath: Invalid value: "/a": must be a relative path
    spec.containers[0].volumeMounts.subPath: Invalid value: "a/..": must not contain '..'
    spec.containers[0].volumeMounts[1].subPathExpr: Invalid value: "../b": subPathExpr and subPath are mutually exclusive
    spec.containers[0].volumeMounts.subPathExpr: Invalid value: "../b": must not contain '..'
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","mountPropagation":"Bidirectional"},{"name":"v","mountPath":"/y","mountPropagation":"Both"}]
    spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers
    spec.containers[0].volumeMounts.mountPropagation: Unsupported value: "Both": supported values: "Bidirectional", "HostToContainer", "None"
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x","recursiveReadOnly":"Enabled","mountPropagation":"HostToContainer"},{"name":"v","mountPath":"/y","recursiveReadOnly":"Yes"}]
    spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true
    spec.containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified when mountPropagation is None or not specified
    spec.containers[0].volumeMounts.recursiveReadOnly: Unsupported value: "Yes": supported values: "Disabled", "Enabled", "IfPossible"
spec.volumes=[{"name":"v"}]; spec.containers.0.volumeDevices=[{"name":"v","devicePath":"/dev/x"},{"name":"w","devicePath":""}]
    spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode
    spec.containers[0].volumeDevices[1].name: Not found: "w"
    spec.containers[0].volumeDevices[1].devicePath: Required value
spec.volumes=[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}]; spec.containers.0.volumeDevices=[{"name":"v","devicePath":"/x"},{"name":"v","devicePath":"/x"}]; spec.containers.0.volumeMounts=[{"name":"v","mountPath":"/x"}]
    spec.containers[0].volumeMounts[0].name: Invalid value: "v": must not already exist in volumeDevices
    spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/x": must not already exist as a path in volumeDevices
    spec.containers[0].volumeDevices[0].name: Invalid value: "v": must not already exist in volumeMounts
    spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/x": must not already exist as a path in volumeMounts
    spec.containers[0].volumeDevices[1].name: Invalid value: "v": must be unique
    spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/x": must be unique
    spec.containers[0].volumeDevices[1].name: Invalid value: "v": must not already exist in volumeMounts
    spec.containers[0].volumeDevices[1].devicePath: Invalid value: "/x": must not already exist as a path in volumeMounts
"""  # noqa: E501

SCHEDULING = r"""
spec.nodeName="N_1"
    spec.nodeName: Invalid value: "N_1": <subdomain>
spec.nodeName="n"; spec.schedulingGates=[{"name":"a"}]
    spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared
spec.nodeSelector={"a b":"c"}
    spec.nodeSelector: Invalid value: "a b": <key>
spec.nodeSelector={"a":"b c"}
    spec.nodeSelector: Invalid value: "b c": <value>
spec.nodeSelector={"a/b/c":"d"}
    spec.nodeSelector: Invalid value: "a/b/c": <label-key>
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In"},{"key":"a","operator":"Exists","values":["x"]},{"key":"a","operator":"Gt","values":["1","2"]},{"key":"","operator":"Is"}]}]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[2].values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].operator: Invalid value: "Is": not a valid selector operator
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].key: Invalid value: "": name part must be non-empty
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[3].key: Invalid value: "": <key>
spec.affinity.nodeAffinity={"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"In","values":["x y"]}],"matchFields":[{"key":"metadata.name","operator":"In","values":["a","B"]},{"key":"spec.x","operator":"Exists"}]}]}}
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "x y": <value>
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[1]: Invalid value: "B": <subdomain>
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].operator: Invalid value: "Exists": not a valid selector operator
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1].key: Invalid value: "spec.x": not a valid field selector key
spec.affinity.nodeAffinity={"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":0,"preference":{"matchExpressions":[{"key":"a b","operator":"In","values":["x y"]}]}},{"weight":101,"preference":{}}]}
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: Invalid value: "a b": <key>
    spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[1].weight: Invalid value: 101: must be in the range 1-100
spec.affinity.podAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"a":"b c"}}}]}
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: Invalid value: "b c": <value>
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": <key>
spec.affinity.podAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a b","namespaces":["A"],"labelSelector":{"matchExpressions":[{"key":"a","operator":"In"},{"key":"b","operator":"Exists","values":["c"]},{"key":"c","operator":"Gt","values":["1"]}]}}]}
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[2].operator: Invalid value: "Gt": not a valid selector operator
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace: Invalid value: "A": <label>
    spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "a b": <key>
spec.affinity.podAffinity={"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":200,"podAffinityTerm":{"topologyKey":""}}]}
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 200: must be in the range 1-100
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Required value: can not be empty
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": name part must be non-empty
    spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.topologyKey: Invalid value: "": <key>
spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a"]}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
metadata.labels={"a":"1"}; spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a"],"mismatchLabelKeys":["a"],"labelSelector":{"matchLabels":{"a":"1"}}}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value: "a": exists in both matchLabelKeys and mismatchLabelKeys
spec.affinity.podAntiAffinity={"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["a b"],"labelSelector":{}}],"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"topologyKey":"z","namespaceSelector":{"matchLabels":{"/":"x"}}}}]}
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value: "a b": <key>
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector.matchLabels: Invalid value: "/": prefix part must be non-empty
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector.matchLabels: Invalid value: "/": name part must be non-empty
    spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.namespaceSelector.matchLabels: Invalid value: "/": <key>
spec.tolerations=[{}]
    spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"
spec.tolerations=[{"key":"a b"}]
    spec.tolerations[0].key: Invalid value: "a b": <key>
spec.tolerations=[{"key":"a","operator":"Exists","value":"x"}]
    spec.tolerations[0].operator: Invalid value: "x": value must be empty when `operator` is 'Exists'
spec.tolerations=[{"key":"a","operator":"Is"}]
    spec.tolerations[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"
spec.tolerations=[{"key":"a","operator":"Gt","value":"1"}]
    spec.tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"
spec.tolerations=[{"key":"a","value":"x y"}]
    spec.tolerations[0].operator: Invalid value: "x y": <value>
spec.tolerations=[{"key":"a","effect":"Never"}]
    spec.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
spec.tolerations=[{"key":"a","effect":"NoSchedule","tolerationSeconds":5}]
    spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when `tolerationSeconds` is set
spec.tolerations=[{"operator":"Equal","value":"x"}]
    spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"
spec.topologySpreadConstraints=[{}]
    spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero
    spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty
    spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "": supported values: "DoNotSchedule", "ScheduleAnyway"
spec.topologySpreadConstraints=[{"maxSkew":-1,"topologyKey":"z","whenUnsatisfiable":"Never"}]
    spec.topologySpreadConstraints[0].maxSkew: Invalid value: -1: must be greater than zero
    spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"},{"maxSkew":2,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]
    spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway","minDomains":0,"nodeAffinityPolicy":"Maybe","nodeTaintsPolicy":"No"}]
    spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than zero
    spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway
    spec.topologySpreadConstraints[0].nodeAffinityPolicy: Unsupported value: "Maybe": supported values: "Honor", "Ignore"
    spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "No": supported values: "Honor", "Ignore"
spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"]}]
    spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set
metadata.labels={"a":"1"}; spec.topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["a"],"labelSelector":{"matchLabels":{"a":"x","b":"y z"}}}]
    spec.topologySpreadConstraints[0][0]: Invalid value: "a": exists in both matchLabelKeys and labelSelector
    spec.topologySpreadConstraints[0].labelSelector.matchLabels: Invalid value: "y z": <value>
spec.schedulingGates=[{"name":"a b"},{"name":"c"},{"name":"c"}]
    spec.schedulingGates[0]: Invalid value: "a b": <key>
    spec.schedulingGates[2]: Duplicate value: "c"
spec.schedulingGates=[{}]
    spec.schedulingGates[0]: Invalid value: "": name part must be non-empty
    spec.schedulingGates[0]: Invalid value: "": <key>
spec.schedulingGroup={}
    spec.schedulingGroup.podGroupName: Invalid value: null: must specify one of: `podGroupName`
spec.schedulingGroup={"podGroupName":""}
    spec.schedulingGroup.podGroupName: Invalid value: "": <subdomain>
spec.schedulingGroup={"podGroupName":"G_1"}
    spec.schedulingGroup.podGroupName: Invalid value: "G_1": <subdomain>
metadata.name="P"; spec.containers.0.image=; spec.restartPolicy="x"; spec.tolerations=[{"key":"a b"}]; spec.nodeSelector={"-":"x"}
    metadata.name: Invalid value: "P": <subdomain>
    spec.containers[0].image: Required value
    spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"
    spec.nodeSelector: Invalid value: "-": <key>
    spec.tolerations[0].key: Invalid value: "a b": <key>
"""  # noqa: E501

SECURITY = r"""
spec.shareProcessNamespace=true; spec.hostPID=true
    spec.shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled
spec.hostUsers=false; spec.hostNetwork=true; spec.hostPID=true; spec.hostIPC=true
    spec.hostNetwork: Forbidden: when `hostUsers` is false
    spec.HostPID: Forbidden: when `hostUsers` is false
    spec.HostIPC: Forbidden: when `hostUsers` is false
spec.os={"name":"dos"}
    spec.os: Unsupported value: "dos": supported values: "linux", "windows"
spec.os={}
    spec.os.name: Required value
spec.os={"name":"linux"}; spec.containers.0.securityContext={"windowsOptions":{"runAsUserName":"a"}}
    spec.containers[0].securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod
spec.os={"name":"windows"}; spec.securityContext={"runAsUser":1,"fsGroup":2}; spec.hostPID=true; spec.containers.0.securityContext={"readOnlyRootFilesystem":true}
    spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod
    spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod
    spec.hostPID: Forbidden: cannot be set for a windows pod
    spec.containers[0].securityContext.readOnlyRootFilesystem: Forbidden: cannot be set for a windows pod
spec.securityContext={"runAsUser":-1,"runAsGroup":-2,"fsGroup":2147483648,"supplementalGroups":[1,-1]}
    spec.securityContext.fsGroup: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive
    spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive
    spec.securityContext.runAsGroup: Invalid value: -2: must be between 0 and 2147483647, inclusive
    spec.securityContext.supplementalGroups[1]: Invalid value: -1: must be between 0 and 2147483647, inclusive
spec.securityContext={"fsGroupChangePolicy":"Never","supplementalGroupsPolicy":"X","seLinuxChangePolicy":"Y"}
    spec.securityContext.fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"
    spec.securityContext.supplementalGroupsPolicy: Unsupported value: "X": supported values: "Merge", "Strict"
    spec.securityContext.seLinuxChangePolicy: Unsupported value: "Y": supported values: "MountOption", "Recursive"
spec.securityContext={"seccompProfile":{"type":"Local"},"appArmorProfile":{"type":""}}
    spec.securityContext.seccompProfile.type: Unsupported value: "Local": supported values: "Localhost", "RuntimeDefault", "Unconfined"
    spec.securityContext.appArmorProfile.type: Required value: type is required when appArmorProfile is set
spec.securityContext={"seccompProfile":{"type":"Localhost"},"appArmorProfile":{"type":"Localhost"}}
    spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost
    spec.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost
spec.securityContext={"seccompProfile":{"type":"Unconfined","localhostProfile":"x"},"appArmorProfile":{"type":"Unconfined","localhostProfile":"x"}}
    spec.securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost
    spec.securityContext.appArmorProfile.localhostProfile: Invalid value: "x": can only be set when AppArmor type is Localhost
spec.securityContext={"sysctls":[{"name":"A","value":"1"},{"name":"net.a","value":"1"},{"name":"net.a","value":"1"},{"value":"2"}]}; spec.hostNetwork=true
    spec.securityContext.sysctls[0].name: Invalid value: "A": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$
    spec.securityContext.sysctls[1].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true
    spec.securityContext.sysctls[2].name: Duplicate value: "net.a"
    spec.securityContext.sysctls[2].name: Invalid value: "net.a": may not be specified when 'hostNetwork' is true
    spec.securityContext.sysctls[3].name: Required value
spec.containers.0.securityContext={"runAsUser":-1,"runAsGroup":-1,"procMount":"Wild"}
    spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive
    spec.containers[0].securityContext.runAsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive
    spec.containers[0].securityContext.procMount: Unsupported value: "Wild": supported values: "Default", "Unmasked"
spec.containers.0.securityContext={"procMount":"Unmasked"}
    spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`
spec.containers.0.securityContext={"allowPrivilegeEscalation":false,"capabilities":{"add":["CAP_SYS_ADMIN"]}}
    spec.containers[0].securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},"Privileged":null,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN
spec.containers.0.securityContext={"seccompProfile":{"type":"Localhost","localhostProfile":"/a/.."}}
    spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "/a/..": must be a relative path
    spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: "/a/..": must not contain '..'
metadata.annotations={"kubernetes.io/config.mirror":"x"}
    metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set
metadata.annotations={"controller.kubernetes.io/pod-deletion-cost":"+5"}
    metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+5": must be a 32bit integer
metadata.annotations={"seccomp.security.alpha.kubernetes.io/pod":"x"}
    metadata.annotations.seccomp.security.alpha.kubernetes.io/pod: Invalid value: "x": must be a valid seccomp profile
metadata.annotations={"container.apparmor.security.beta.kubernetes.io/z":"x"}
    metadata.annotations[container.apparmor.security.beta.kubernetes.io/z]: Invalid value: "z": container not found
    metadata.annotations[container.apparmor.security.beta.kubernetes.io/z]: Invalid value: "x": invalid AppArmor profile name: "x"
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

"""Services: what kube-apiserver 1.37.1 said to the same objects, and which addresses and ports they get."""

from __future__ import annotations

import pytest

from muster.local.kinds.services import addresses as service_addresses
from muster.local.kinds.services import services
from muster.local.kinds.services.addresses import Used
from tests.local.answers import edited, rows, said
from tests.local.flow import Subject, check, created, status_updated, updated

KIND = Subject(
    services.STRATEGY,
    "api.core.v1.Service",
    begin=lambda new, old: services.allocate(new, old, [], True),
)
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
STORED = {
    "metadata": {"name": "s"},
    "spec": {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "type": "ClusterIP",
        "clusterIP": "10.0.0.99",
        "clusterIPs": ["10.0.0.99"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None",
    },
    "status": {"loadBalancer": {}},
}
BALANCED = edited(
    STORED,
    'metadata.name="lb"; spec.type="LoadBalancer"; spec.externalTrafficPolicy="Local"; spec.clusterIP="10.0.0.98"; '
    'spec.clusterIPs=["10.0.0.98"]; spec.allocateLoadBalancerNodePorts=true; spec.healthCheckNodePort=30999; '
    "spec.ports.0.nodePort=30998",
)

NEW = r"""
-
    spec.clusterIP="10.0.0.0"
    spec.clusterIPs=["10.0.0.0"]
    spec.internalTrafficPolicy="Cluster"
    spec.ipFamilies=["IPv4"]
    spec.ipFamilyPolicy="SingleStack"
    spec.ports.0.protocol="TCP"
    spec.ports.0.targetPort=80
    spec.sessionAffinity="None"
    spec.type="ClusterIP"
    status={"loadBalancer": {}}
metadata.name="S"
    metadata.name: Invalid value: "S": <label>
metadata.name="1s"
    ...
metadata.name="s.t"
    metadata.name: Invalid value: "s.t": must not contain dots
spec.ports=
    spec.ports: Required value
spec.ports.0.port=
    spec.ports[0].port: Invalid value
    spec.ports[0].targetPort: Invalid value
spec.ports.0.port=70000
    spec.ports[0].port: Invalid value
    spec.ports[0].targetPort: Invalid value
spec.ports.0.protocol="HTTP"
    spec.ports[0].protocol: Unsupported value
spec.ports.0.protocol="UDP"; spec.ports.0.targetPort="dns"
    ...
    ~spec.ports.0.protocol
    ~spec.ports.0.targetPort
spec.ports.0.targetPort="Not_A_Port"
    spec.ports[0].targetPort: Invalid value
spec.ports.0.targetPort=0
    ...
spec.ports.0.targetPort=-1
    spec.ports[0].targetPort: Invalid value
spec.ports.0.name="HTTP"
    spec.ports[0].name: Invalid value
spec.ports.0.appProtocol="a b"
    spec.ports[0].appProtocol: Invalid value
spec.ports.0.nodePort=30000
    spec.ports[0].nodePort: Forbidden
spec.ports.1={"port":81}
    spec.ports[0].name: Required value
    spec.ports[1].name: Required value
spec.ports=[{"name":"a","port":80},{"name":"a","port":81}]
    spec.ports[1].name: Duplicate value
spec.ports=[{"name":"a","port":80},{"name":"b","port":80}]
    spec.ports[1]: Duplicate value
spec.ports=[{"name":"a","port":80},{"name":"b","port":80,"protocol":"UDP"}]
    ...
    spec.ports.1.targetPort=80
spec.selector={"a b":"c"}
    spec.selector: Invalid value
spec.selector={"a":"b"}; spec.clusterIP="None"
    ...
    spec.clusterIPs=["None"]
    ~spec.clusterIP
spec.clusterIP="None"
    ...
    spec.clusterIPs=["None"]
    spec.ipFamilies=["IPv4", "IPv6"]
    spec.ipFamilyPolicy="RequireDualStack"
    ~spec.clusterIP
spec.clusterIP="None"; spec.ports=
    spec.clusterIPs=["None"]
    spec.internalTrafficPolicy="Cluster"
    spec.ipFamilies=["IPv4", "IPv6"]
    spec.ipFamilyPolicy="RequireDualStack"
    spec.sessionAffinity="None"
    spec.type="ClusterIP"
    status={"loadBalancer": {}}
spec.clusterIP="None"; spec.type="NodePort"
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="None"; spec.type="LoadBalancer"
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="10.0.0.44"
    ...
    spec.clusterIPs=["10.0.0.44"]
    ~spec.clusterIP
spec.clusterIP="1.2.3.4"
    spec.clusterIPs: Invalid value
spec.clusterIP="x"
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="010.0.0.1"
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="::1"
    spec.clusterIPs[0]: Invalid value
spec.clusterIPs=["10.0.0.44"]
    spec.clusterIPs: Invalid value
spec.clusterIP="10.0.0.44"; spec.clusterIPs=["10.0.0.45"]
    spec.clusterIPs: Invalid value
spec.clusterIP="10.0.0.44"; spec.clusterIPs=["10.0.0.44","10.0.0.45"]
    spec.clusterIPs: Invalid value
spec.clusterIP="10.0.0.44"; spec.clusterIPs=["10.0.0.44","::1"]
    spec.ipFamilyPolicy: Invalid value
    spec.clusterIPs[1]: Invalid value
spec.clusterIP="None"; spec.clusterIPs=["None","10.0.0.44"]
    spec.clusterIPs: Invalid value
spec.ipFamilies=["IPv6"]
    spec.ipFamilies[0]: Invalid value
spec.ipFamilies=["IPv4","IPv4"]
    spec.ipFamilies[1]: Duplicate value
spec.ipFamilies=["IPv4","IPv6"]
    spec.ipFamilyPolicy: Invalid value
spec.ipFamilies=["IPX"]
    spec.ipFamilies[0]: Unsupported value
spec.ipFamilies=["IPv6"]; spec.clusterIP="10.0.0.44"
    spec.clusterIPs[0]: Invalid value
spec.ipFamilyPolicy="RequireDualStack"
    spec.ipFamilyPolicy: Invalid value
spec.ipFamilyPolicy="PreferDualStack"
    ...
    ~spec.ipFamilyPolicy
spec.ipFamilyPolicy="Odd"
    spec.ipFamilyPolicy: Unsupported value
spec.type="Odd"
    spec.type: Unsupported value
spec.type="NodePort"
    ...
    spec.externalTrafficPolicy="Cluster"
    spec.ports.0.nodePort=32769
    ~spec.type
spec.type="NodePort"; spec.ports=[{"name":"a","port":80,"nodePort":30001},{"name":"b","port":81,"nodePort":30001}]
    spec.ports[1].nodePort: Invalid value
spec.type="LoadBalancer"
    ...
    spec.allocateLoadBalancerNodePorts=true
    spec.externalTrafficPolicy="Cluster"
    spec.ports.0.nodePort=32769
    ~spec.type
spec.type="LoadBalancer"; spec.externalTrafficPolicy="Local"
    ...
    spec.allocateLoadBalancerNodePorts=true
    spec.healthCheckNodePort=32770
    spec.ports.0.nodePort=32769
    ~spec.type
spec.type="LoadBalancer"; spec.allocateLoadBalancerNodePorts=false; spec.loadBalancerClass="a/b"
    ...
    spec.externalTrafficPolicy="Cluster"
    ~spec.type
spec.type="LoadBalancer"; spec.loadBalancerClass="a b"
    spec.loadBalancerClass: Invalid value
spec.type="LoadBalancer"; spec.loadBalancerSourceRanges=["1.2.3.0/24"," 10.0.0.0/8 ","x"]
    spec.LoadBalancerSourceRanges[2]: Invalid value
spec.type="ExternalName"
    spec.externalName: Required value
spec.type="ExternalName"; spec.externalName="a.b."
    spec.ports.0.protocol="TCP"
    spec.ports.0.targetPort=80
    spec.sessionAffinity="None"
    status={"loadBalancer": {}}
spec.type="ExternalName"; spec.externalName="A"
    spec.externalName: Invalid value
spec.type="ExternalName"; spec.externalName="a"; spec.clusterIP="10.0.0.3"; spec.ipFamilies=["IPv4"]; spec.ipFamilyPolicy="SingleStack"
    spec.clusterIPs: Forbidden
    spec.ipFamilies: Forbidden
    spec.ipFamilyPolicy: Forbidden
spec.type="ExternalName"; spec.externalName="a"; spec.ports=
    spec.sessionAffinity="None"
    status={"loadBalancer": {}}
spec.loadBalancerSourceRanges=["1.2.3.0/24"]
    spec.LoadBalancerSourceRanges: Forbidden
spec.loadBalancerClass="a/b"
    spec.loadBalancerClass: Forbidden
spec.allocateLoadBalancerNodePorts=true
    spec.allocateLoadBalancerNodePorts: Forbidden
spec.externalTrafficPolicy="Local"
    spec.externalTrafficPolicy: Invalid value
spec.externalTrafficPolicy="Odd"; spec.type="NodePort"
    spec.externalTrafficPolicy: Unsupported value
spec.healthCheckNodePort=30000
    spec.healthCheckNodePort: Invalid value
spec.internalTrafficPolicy="Odd"
    spec.internalTrafficPolicy: Unsupported value
spec.internalTrafficPolicy="Local"
    ...
    ~spec.internalTrafficPolicy
spec.trafficDistribution="PreferClose"
    ...
spec.trafficDistribution="Odd"
    spec.trafficDistribution: Unsupported value
spec.sessionAffinity="ClientIP"
    ...
    spec.sessionAffinityConfig={"clientIP": {"timeoutSeconds": 10800}}
    ~spec.sessionAffinity
spec.sessionAffinity="ClientIP"; spec.sessionAffinityConfig={"clientIP":{"timeoutSeconds":0}}
    spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value
spec.sessionAffinity="ClientIP"; spec.sessionAffinityConfig={"clientIP":{"timeoutSeconds":86401}}
    spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value
spec.sessionAffinity="None"; spec.sessionAffinityConfig={"clientIP":{"timeoutSeconds":5}}
    ...
    spec.sessionAffinityConfig=
    ~spec.sessionAffinity
spec.sessionAffinity="Odd"
    spec.sessionAffinity: Unsupported value
spec.externalIPs=["1.2.3.4"]
    ...
    spec.externalTrafficPolicy="Cluster"
spec.externalIPs=["x","127.0.0.1","0.0.0.0","169.254.0.1","224.0.0.1","010.1.1.1"]
    spec.externalIPs[0]: Invalid value
    spec.externalIPs[1]: Invalid value
    spec.externalIPs[2]: Invalid value
    spec.externalIPs[3]: Invalid value
    spec.externalIPs[4]: Invalid value
    spec.externalIPs[5]: Invalid value
"""  # noqa: E501

CHANGED = r"""
-
spec.clusterIP=; spec.clusterIPs=
    spec.clusterIP="10.0.0.99"
    spec.clusterIPs=["10.0.0.99"]
spec.clusterIP="10.0.0.98"
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="10.0.0.98"; spec.clusterIPs=["10.0.0.98"]
    spec.clusterIPs[0]: Invalid value
spec.clusterIP="None"; spec.clusterIPs=["None"]
    spec.clusterIPs[0]: Invalid value
spec.ipFamilies=; spec.ipFamilyPolicy=
    spec.ipFamilies=["IPv4"]
    spec.ipFamilyPolicy="SingleStack"
spec.type="NodePort"
    spec.externalTrafficPolicy="Cluster"
    spec.ports.0.nodePort=32769
spec.type="LoadBalancer"
    spec.allocateLoadBalancerNodePorts=true
    spec.externalTrafficPolicy="Cluster"
    spec.ports.0.nodePort=32769
spec.type="ExternalName"; spec.externalName="a.b"
    spec.clusterIP=
    spec.clusterIPs=
    spec.internalTrafficPolicy=
    spec.ipFamilies=
    spec.ipFamilyPolicy=
spec.type="ExternalName"
    spec.externalName: Required value
spec.ports.0.port=81
spec.ports=
    spec.ports: Required value
spec.selector={"a":"b"}
metadata.labels={"a":"b c"}; spec.ports.0.protocol="x"
    metadata.labels: Invalid value: "b c": <value>
    spec.ports[0].protocol: Unsupported value
status={"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}
    status.loadBalancer.ingress=
"""

CHANGED_BALANCED = r"""
-
spec.type="ClusterIP"
    spec.allocateLoadBalancerNodePorts=
    spec.externalTrafficPolicy=
    spec.healthCheckNodePort=
    spec.ports.0.nodePort=
spec.type="NodePort"
    spec.allocateLoadBalancerNodePorts=
    spec.healthCheckNodePort=
spec.ports.0.nodePort=
    spec.ports.0.nodePort=30998
spec.healthCheckNodePort=
    spec.healthCheckNodePort=30999
spec.healthCheckNodePort=31000
    spec.healthCheckNodePort: Forbidden: field is immutable
spec.externalTrafficPolicy="Cluster"
    spec.healthCheckNodePort=
spec.loadBalancerClass="a/b"
    spec.loadBalancerClass: Invalid value
spec.allocateLoadBalancerNodePorts=false
spec.type="ExternalName"; spec.externalName="a"
    spec.allocateLoadBalancerNodePorts=
    spec.clusterIP=
    spec.clusterIPs=
    spec.externalTrafficPolicy=
    spec.healthCheckNodePort=
    spec.internalTrafficPolicy=
    spec.ipFamilies=
    spec.ipFamilyPolicy=
    spec.ports.0.nodePort=
"""

STATUS = r"""
status={"loadBalancer":{"ingress":[{"ip":"1.2.3.4"},{"hostname":"a.b"}]}}
    status.loadBalancer.ingress.0.ipMode="VIP"
status={"loadBalancer":{"ingress":[{"ip":"x"},{"hostname":"A"},{"hostname":"1.2.3.4"},{"hostname":"a","ipMode":"VIP"},{"ip":"1.2.3.4","ipMode":"Odd"}]}}
    status.loadBalancer.ingress[0].ip: Invalid value
    status.loadBalancer.ingress[1].hostname: Invalid value
    status.loadBalancer.ingress[2].hostname: Invalid value
    status.loadBalancer.ingress[3].ipMode: Forbidden
    status.loadBalancer.ingress[4].ipMode: Unsupported value
"""

PLAIN_STATUS = r"""
status={"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}
    status.loadBalancer.ingress: Forbidden
"""


@pytest.mark.parametrize(("changes", "answer"), rows(NEW))
def test_a_new_service_is_answered_as_kubernetes_does(changes, answer):
    given = edited(SERVICE, changes)
    check(created(KIND, given), given, answer)


@pytest.mark.parametrize(
    ("good", "changes", "answer"),
    [(STORED, *row) for row in rows(CHANGED)] + [(BALANCED, *row) for row in rows(CHANGED_BALANCED)],
)
def test_a_changed_service_is_answered_as_kubernetes_does(good, changes, answer):
    given = edited(good, changes)
    check(updated(KIND, given, good), given, answer)


@pytest.mark.parametrize(
    ("good", "changes", "answer"),
    [(BALANCED, *row) for row in rows(STATUS)] + [(STORED, *row) for row in rows(PLAIN_STATUS)],
)
def test_a_changed_status_is_answered_as_kubernetes_does(good, changes, answer):
    given = edited(good, changes)
    check(status_updated(KIND, given, good), given, answer)


def assigned(given, used):
    service = edited(given, "-")
    services.default(service)
    service_addresses.adopt(service, None)
    return service["spec"], said(service_addresses.assign(service, None, used))


def test_a_service_gets_an_address_and_ports_that_nobody_has():
    used = Used(frozenset({"10.0.0.17"}), frozenset({30086}))
    spec, _ = assigned(edited(SERVICE, 'spec.type="NodePort"'), used)
    assert (spec["clusterIP"], spec["clusterIPs"]) == ("10.0.0.18", ["10.0.0.18"])
    assert spec["ports"][0]["nodePort"] == 30087


def test_addresses_that_users_would_name_are_given_last():
    used = Used(frozenset(f"10.0.0.{number}" for number in range(17, 255)))
    assert assigned(SERVICE, used)[0]["clusterIP"] == "10.0.0.1"


def test_an_address_that_another_has_is_refused():
    _, errors = assigned(edited(SERVICE, 'spec.clusterIP="10.0.0.5"'), Used(frozenset({"10.0.0.5"})))
    words = "failed to allocate IP 10.0.0.5: provided IP is already allocated"
    assert errors == [f'spec.clusterIPs: Invalid value: ["10.0.0.5"]: {words}']


@pytest.mark.parametrize(
    ("port", "words"),
    [
        (30005, "provided port is already allocated"),
        (5, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
    ],
)
def test_a_port_that_cannot_be_had_is_refused(port, words):
    given = edited(SERVICE, f'spec.type="NodePort"; spec.ports.0.nodePort={port}')
    _, errors = assigned(given, Used(ports=frozenset({30005})))
    assert errors == [f"spec.ports[0].nodePort: Invalid value: {port}: {words}"]


def test_what_services_use_is_read_off_them():
    assert service_addresses.used_by([STORED, BALANCED, edited(STORED, 'spec.clusterIPs=["None"]')]) == Used(
        frozenset({"10.0.0.99", "10.0.0.98"}), frozenset({30998, 30999})
    )

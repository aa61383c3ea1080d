"""Tokens of service accounts: who has one gets in, as long as it and its account last."""

import base64
import json

import pytest

from tests.local.serving import Served

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
def served():
    served = Served()
    served.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    return served


def ask_for(served, name="robot", **spec):
    request = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": spec}
    return served.create(f"{ACCOUNTS}/{name}/token", request)


def test_a_token_is_answered_as_kubernetes_answers_it(served):
    asked, uid = ask_for(served), served.get(f"{ACCOUNTS}/robot")["metadata"]["uid"]
    token = asked["status"].pop("token")
    assert asked == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": "robot", "namespace": "default", "uid": uid, "creationTimestamp": "2023-11-14T22:13:20Z"},
        "spec": {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3600, "boundObjectRef": None},
        "status": {"expirationTimestamp": "2023-11-14T23:13:20Z"},
    }
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert (claims["sub"], claims["exp"] - claims["iat"]) == ("system:serviceaccount:default:robot", 3600)
    assert claims["kubernetes.io"] == {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}}


def test_who_has_a_token_gets_in_and_is_known_by_its_account(served):
    token = ask_for(served)["status"]["token"]
    served.ask("GET", PODS, token=token)
    user = served.ask("POST", REVIEWS, {}, code=201, token=token)["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:robot"
    assert "system:serviceaccounts:default" in user["groups"]


def test_a_token_runs_out(served):
    token = ask_for(served, expirationSeconds=600)["status"]["token"]
    served.chance.time += 599
    served.ask("GET", PODS, token=token)
    served.chance.time += 1
    served.ask("GET", PODS, token=token, code=401)


def test_a_token_goes_with_its_account_and_does_not_open_for_one_made_again(served):
    token = ask_for(served)["status"]["token"]
    served.ask("DELETE", f"{ACCOUNTS}/robot")
    served.ask("GET", PODS, token=token, code=401)
    served.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    served.ask("GET", PODS, token=token, code=401)


def test_a_token_for_somebody_else_does_not_open_the_server(served):
    token = ask_for(served, audiences=["vault"])["status"]["token"]
    served.ask("GET", PODS, token=token, code=401)


def test_a_token_that_was_changed_is_none(served):
    head, payload, signature = ask_for(served)["status"]["token"].split(".")
    other = json.loads(base64.urlsafe_b64decode(payload + "=="))
    other["exp"] += 3600
    forged = base64.urlsafe_b64encode(json.dumps(other).encode()).rstrip(b"=").decode()
    for token in (f"{head}.{forged}.{signature}", f"{head}.{payload}.", f"{head}.{payload}", ".", "\udcff.\udcff"):
        served.ask("GET", PODS, token=token, code=401)


def test_the_token_of_one_cluster_does_not_open_another(served):
    other = Served()
    other.create(ACCOUNTS, {"metadata": {"name": "robot"}})
    other.server._tokens._key = b"another"
    served.ask("GET", PODS, token=ask_for(other)["status"]["token"], code=401)


@pytest.mark.parametrize(
    ("spec", "name", "code", "message"),
    [
        (
            {"expirationSeconds": 5},
            "",
            422,
            'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: '
            "may not specify a duration less than 10 minutes",
        ),
        (
            {},
            "other",
            422,
            'TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "other": '
            "must match the service account name if specified",
        ),
        ({"boundObjectRef": {"kind": "Pod", "name": "web"}}, "", 400, "tokens are not bound to other objects"),
    ],
)
def test_what_cannot_be_had_is_refused(served, spec, name, code, message):
    body = {"metadata": {"name": name} if name else {}, "spec": spec}
    assert message in served.refused("POST", f"{ACCOUNTS}/robot/token", body, code=code)


def test_who_is_not_there_has_no_token(served):
    words = served.refused("POST", f"{ACCOUNTS}/nobody/token", {}, code=404)
    assert words == 'serviceaccounts "nobody" not found'

"""Tokens: sent as headers, read again when due, never printed."""

import pytest

from muster.base.errors import KubeconfigError
from muster.kube.credentials import Fixed, Together, TokenFile, basic, bearer


class File:
    """A token file, and a clock."""

    def __init__(self, path):
        self.path = path
        self.now = 1_000_000.0
        self.path.write_text("first\n")
        self.credentials = TokenFile(path, source="config", now=lambda: self.now)

    async def token(self):
        return (await self.credentials.headers())["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def file(tmp_path):
    return File(tmp_path / "token")


async def test_a_token_file_is_sent_without_its_line_end(file):
    assert await file.credentials.headers() == {"Authorization": "Bearer first"}


async def test_a_token_file_is_read_again_after_a_minute_and_not_before(file):
    file.path.write_text("second")
    file.now += 59.9
    assert await file.token() == "first"
    file.now += 0.1
    assert await file.token() == "second"


async def test_a_token_file_is_read_again_at_once_after_a_refusal(file):
    file.path.write_text("second")
    file.credentials.refused()
    assert await file.token() == "second"


async def test_a_refusal_of_a_token_that_was_replaced_since_changes_nothing(file):
    before = await file.credentials.headers()
    file.path.write_text("second")
    file.credentials.refused(before)
    assert await file.token() == "second"
    file.path.write_text("third")
    file.credentials.refused(before)
    assert await file.token() == "second"


async def test_a_token_file_is_read_again_when_the_clock_was_set_back(file):
    file.path.write_text("second")
    file.now -= 3600
    assert await file.token() == "second"


@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_text("")])
async def test_a_token_goes_on_being_sent_when_its_file_cannot_be_used(file, harm):
    harm(file.path)
    file.now += 60
    assert await file.token() == "first"


async def test_a_refused_token_is_not_sent_again_when_its_file_cannot_be_read(file):
    file.path.unlink()
    file.credentials.refused()
    with pytest.raises(KubeconfigError, match=r"token file .* cannot be read: No such file"):
        await file.credentials.headers()


def test_a_token_file_that_is_missing_from_the_start_is_an_error(tmp_path):
    with pytest.raises(KubeconfigError, match=r"token file .* cannot be read"):
        TokenFile(tmp_path / "token", source="config")


@pytest.mark.parametrize("token", [b"hush\r\nX-Admin: yes", b"hush hush", "hüsh".encode(), b"hush\x00"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_without_being_shown(token):
    with pytest.raises(KubeconfigError, match="characters that no token has") as caught:
        bearer(token, source="config")
    assert "sh" not in caught.value.message
    assert caught.value.__cause__ is None


def test_an_empty_token_is_refused():
    with pytest.raises(KubeconfigError, match="token is empty"):
        bearer(b" \n", source="config")


def test_a_password_is_sent_as_basic_authorization():
    assert basic("jo", "pä:ss") == {"Authorization": "Basic am86cMOkOnNz"}


async def test_parts_add_their_headers_and_all_hear_of_a_refusal(file):
    both = Together([file.credentials, Fixed({"Impersonate-User": "jo"})])
    assert await both.headers() == {"Authorization": "Bearer first", "Impersonate-User": "jo"}
    file.path.write_text("second")
    both.refused(await both.headers())
    assert await both.headers() == {"Authorization": "Bearer second", "Impersonate-User": "jo"}


async def test_headers_are_the_callers_to_change(file):
    for credentials in (file.credentials, Fixed({"Authorization": "x"})):
        before = await credentials.headers()
        (await credentials.headers())["Content-Type"] = "application/json"
        assert await credentials.headers() == before


def test_credentials_do_not_print_what_they_hold(file):
    for credentials in (file.credentials, Fixed(bearer(b"first", source="")), Together([file.credentials])):
        assert "first" not in repr(credentials)

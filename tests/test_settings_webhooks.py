from __future__ import annotations

import pytest

from crucible_batch.delivery.ssrf import read_allowed
from crucible_batch.errors import UsageError
from crucible_batch.settings import Settings, load_settings
from crucible_batch.settings.template import described_webhook

OPS = '[[webhooks]]\nname = "ops"\nurl = "https://hooks.example/t0ken"\nsecret_env = "OPS"\n'


def read(root, text, workspace=None):
    path = root / "crucible.toml" if workspace is None else root / workspace / "settings.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return load_settings(root, workspace)


def test_an_endpoint_needs_a_name_an_address_and_where_its_secret_is(tmp_path):
    (ops,) = read(tmp_path, OPS).webhooks
    assert ops.events == ("opened", "escalated", "reminder", "resolved")
    assert (ops.min_severity, ops.allow, ops.allow_http) == ("warn", (), False)
    assert ops.timeout_seconds == 15.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('urll = "x"', "line 5: unknown setting 'webhooks.1.urll'. Did you mean webhooks.1.url"),
        ('events = ["pending"]', "webhooks.1.events.0"),
        ("events = []", "webhooks.1.events"),
        ('min_severity = "info"', "line 5: webhooks.1.min_severity"),
        ('allow = ["10.0.0.1/8"]', "is no host name, address or network"),
        ('allow = ["http://x"]', "is no host name, address or network"),
        ('allow = ["."]', "'.' is no host name, address or network"),
        ('allow = ["hooks..example"]', "is no host name, address or network"),
        ('allow = ["a\\tb"]', "is no host name, address or network"),
        ('allow = ["\u00e9.example"]', "is no host name, address or network"),
        ('allow_http = "yes"', "line 5: webhooks.1.allow_http"),
        ("timeout_seconds = 0", "line 5: webhooks.1.timeout_seconds"),
        (OPS, "line 6: two endpoints are called 'ops'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(tmp_path, more, said):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, OPS + more)
    assert said in str(caught.value)
    assert "t0ken" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("https:", "http:", "use https, or set allow_http = true"),
        ("https:", "ftp:", "has to look like https://host/path"),
        ("hooks.example", "", "has to look like https://host/path"),
        (
            "hooks.example",
            "hooks.example:99999",
            "line 3: webhooks.1.url: the url of ops",
        ),
        ("hooks.example", "hooks.example:0", "has to look like https://host/path"),
        ("hooks.example", "[::1", "the url of ops cannot be read"),
        ("hooks.example", "hooks%00.example", "has to look like https://host/path"),
        ("hooks.example", "hooks .example", "holds a space or a control character"),
        ("t0ken", "t0ken\\nx", "holds a space or a control character"),
        ("hooks.example", "user:pa55@hooks.example", "holds a user or a password"),
        ('"OPS"', '"whsec_c2VjcmV0"', "webhooks.1.secret_env"),
        ('"OPS"', '""', "webhooks.1.secret_env"),
        ('"ops"', '"a b"', "webhooks.1.name"),
        ('name = "ops"\n', "", "webhooks.1.name"),
    ],
)
def test_a_fault_never_quotes_what_may_be_a_secret(tmp_path, old, new, said):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, OPS.replace(old, new))
    message = str(caught.value)
    assert said in message
    assert not any(secret in message for secret in ("t0ken", "pa55", "c2VjcmV0"))


@pytest.mark.parametrize(
    "text", [OPS.replace("[[webhooks]]", "[webhooks]"), "webhooks = ['t0ken']"]
)
def test_an_endpoint_that_is_no_table_of_a_list_is_not_quoted(tmp_path, text):
    with pytest.raises(UsageError, match="webhooks") as caught:
        read(tmp_path, text)
    assert "t0ken" not in str(caught.value)


@pytest.mark.parametrize(
    "entry", ["hooks.example", "HOOKS.example.", "127.0.0.0/8", "[::1]", "x_1"]
)
def test_what_settings_allow_the_check_of_addresses_reads(tmp_path, entry):
    (ops,) = read(tmp_path, f'{OPS}allow = ["{entry}"]').webhooks
    assert ops.allow == (entry,)
    assert read_allowed(entry)


def test_http_is_for_those_who_say_so(tmp_path):
    (ops,) = read(tmp_path, OPS.replace("https", "http") + "allow_http = true").webhooks
    assert ops.url.startswith("http:")


def test_the_endpoints_of_a_workspace_stand_in_for_those_of_the_store(tmp_path):
    read(tmp_path, OPS)
    own = read(tmp_path, OPS.replace('"ops"', '"own"'), "w").webhooks
    assert [webhook.name for webhook in own] == ["own"]


def test_who_is_told_changes_no_number(tmp_path):
    assert read(tmp_path, OPS).hash == Settings().hash


def test_every_key_is_described():
    assert all(text for _, _, text in described_webhook())
    must = [key for key, default, _ in described_webhook() if not default]
    assert must == ["name", "url", "secret_env"]

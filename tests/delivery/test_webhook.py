"""One try of one webhook, against a receiver that really listens."""

from __future__ import annotations

import base64
import datetime as dt
import socket
import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from receiver import Receiver
from standardwebhooks import Webhook

from crucible_batch.delivery import webhook
from crucible_batch.delivery.signature import read_secrets
from crucible_batch.delivery.webhook import Answer, Endpoint, send

SECRET = "whsec_" + base64.b64encode(bytes(range(24))).decode()
BODY = '{"type":"crucible.alert.opened","data":{"note":"é"}}'.encode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def endpoint(url: str, **more) -> Endpoint:
    parts = {"allow": ("127.0.0.0/8", "::1"), "allow_http": True, "timeout_seconds": 30.0} | more
    return Endpoint(name="ops", url=url, keys=read_secrets(SECRET), **parts)


def sent(url: str, *, resolve=webhook.system_resolve, **more) -> Answer:
    return send(endpoint(url, **more), "evt_1", BODY, now=now, resolve=resolve)


def test_what_arrives_is_the_body_signed_so_that_the_reference_library_verifies_it(receiver):
    assert sent(receiver.url("/a")) == Answer(status=200)
    (came,) = receiver.came()
    assert came.body == BODY
    assert came.headers["content-type"] == "application/json"
    assert came.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert Webhook(SECRET).verify(came.body, came.headers) == came.content


@pytest.mark.parametrize(
    ("step", "error", "resting"),
    [
        ("400", "HTTP 400", False),
        ("404", "HTTP 404", False),
        ("500", "HTTP 500", False),
        ("503", "HTTP 503", True),
        ("301", "HTTP 301 (redirects are not followed)", False),
        ("drop", "RemoteProtocolError: Server disconnected", True),
    ],
)
def test_everything_but_2xx_is_a_failure(receiver, step, error, resting):
    receiver.script("/a", step)
    answer = sent(receiver.url("/a"))
    assert not answer.is_ok
    assert answer.error.startswith(error)
    assert answer.is_resting is resting
    assert receiver.came("/elsewhere") == []


@pytest.mark.parametrize("status", ["200", "201", "204", "299"])
def test_every_2xx_is_delivered(receiver, status):
    receiver.script("/a", status)
    assert sent(receiver.url("/a")).is_ok


def test_a_receiver_may_say_how_long_and_that_it_is_gone(receiver):
    receiver.script("/a", "429:120", "410")
    slow, gone = sent(receiver.url("/a")), sent(receiver.url("/a"))
    assert (slow.retry_after, slow.is_gone) == (dt.timedelta(seconds=120), False)
    assert (gone.retry_after, gone.is_gone) == (None, True)


def test_a_receiver_that_hangs_is_waited_for_only_so_long(receiver):
    receiver.script("/a", "hang")
    answer = sent(receiver.url("/a"), timeout_seconds=0.2)
    assert answer == Answer(error="no answer within 0.2 seconds", is_resting=True)


def test_a_resolver_that_hangs_is_waited_for_only_so_long():
    async def resolve(host: str, port: int) -> list[str]:
        await webhook.asyncio.sleep(60)
        return []

    assert (
        "within 0.1 seconds" in sent("http://a.example", resolve=resolve, timeout_seconds=0.1).error
    )


def test_a_body_without_end_is_not_read(receiver):
    receiver.script("/a", "endless")
    assert sent(receiver.url("/a")) == Answer(status=200)


@pytest.fixture
def talker() -> Iterator[Callable[[bytes], str]]:
    """Answers one connection with these bytes, whatever is asked, and gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as pool:

        def talk(answer: bytes) -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        def start(answer: bytes) -> str:
            pool.submit(talk, answer)
            return f"http://127.0.0.1:{server.getsockname()[1]}/a"

        yield start


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff" * 500,
        b"HTTP/1.1 200",
        b"HTTP/1.1 999999 No\r\n\r\n",
        b"HTTP/1.1 -1 No\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 2_000_000,
    ],
)
def test_an_answer_that_is_no_http_is_a_failure_and_nothing_worse(talker, answer):
    found = sent(talker(answer), timeout_seconds=5.0)
    assert found.status is None
    assert found.error.partition(":")[0] in {"RemoteProtocolError", "ReadError", "WriteError"}
    assert found.is_resting


def test_a_retry_after_in_no_known_alphabet_says_nothing(talker):
    answer = b"HTTP/1.1 503 No\r\nretry-after: \xff\xb2\r\ncontent-length: 0\r\n\r\n"
    found = sent(talker(answer))
    assert (found.status, found.retry_after, found.is_resting) == (503, None, True)


def test_a_receiver_that_speaks_no_tls_is_a_failure(receiver):
    answer = sent(receiver.url("/a", scheme="https"), timeout_seconds=5.0)
    assert "ConnectError" in answer.error
    assert receiver.came() == []


def test_nobody_listening_is_a_failure():
    gone = Receiver()
    gone.close()
    assert "ConnectError" in sent(gone.url("/a")).error


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1/", "begins with http:, not with https:"),
        ("file:///etc/passwd", "begins with file:, not with https:"),
        ("https://user:pass@example.org/", "a password in it"),
        ("https://", "no host"),
        ("https://exa mple.org:x/", "no URL"),
        ("https://127.1/", "loopback"),
        ("https://2130706433/", "loopback"),
        ("https://127\u30020\u30020\u30021/", "loopback"),
        ("https://xn--a/", "cannot be resolved"),
        ("https://[::ffff:10.0.0.1]/", "private"),
    ],
)
def test_an_address_that_may_not_be_sent_to_is_not_connected_to(url, said):
    answer = sent(url, allow_http=False, allow=())
    assert said in answer.error
    assert answer.status is None


def test_an_address_inside_gets_nothing_unless_it_is_allowed(receiver):
    for host in ("127.0.0.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]", "localhost"):
        assert "not allowed" in sent(receiver.url("/a", host), allow=()).error, host
    assert receiver.came() == []


def test_the_connection_goes_to_the_address_that_was_checked_even_if_the_name_flips(receiver):
    answers = [["127.0.0.1"], ["10.0.0.1"]]

    async def flips(host: str, port: int) -> list[str]:
        return answers.pop(0)

    assert sent(receiver.url("/a", "hooks.example"), resolve=flips).is_ok
    assert answers == [["10.0.0.1"]], "resolved once"
    (came,) = receiver.came()
    assert came.headers["host"] == f"hooks.example:{receiver.port}"


def test_the_next_address_is_tried_when_the_first_does_not_answer(receiver):
    async def two(host: str, port: int) -> list[str]:
        return ["::1", "127.0.0.1"]

    assert sent(receiver.url("/a", "hooks.example"), resolve=two).is_ok


def test_a_proxy_of_the_environment_is_not_used(receiver, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", receiver.url("/proxy"))
    monkeypatch.setenv("ALL_PROXY", receiver.url("/proxy"))
    assert sent(receiver.url("/a")).is_ok
    assert [came.path for came in receiver.came()] == ["/a"]


def test_neither_address_nor_secret_is_shown():
    shown = repr(endpoint("https://hooks.example/token"))
    assert "token" not in shown
    assert "keys" not in shown


# --- certificates -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> dict[str, str]:
    """Files of a certificate for hooks.example, signed by itself."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hooks.example")])
    today = now()
    made = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example")]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("authority")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return {"certfile": str(folder / "cert.pem"), "keyfile": str(folder / "key.pem")}


@pytest.fixture
def secure(authority, monkeypatch) -> Iterator[Receiver]:
    """A receiver with that certificate, which this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", authority["certfile"])
    webhook._trusted.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(**authority)
    found = Receiver(context)
    yield found
    found.close()
    webhook._trusted.cache_clear()


async def here(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def test_the_certificate_is_checked_for_the_host_not_for_the_address(secure):
    url = secure.url("/a", "hooks.example", "https")
    assert sent(url, allow_http=False, resolve=here) == Answer(status=200)


def test_a_certificate_of_another_host_is_refused(secure):
    url = secure.url("/a", "other.example", "https")
    answer = sent(url, allow_http=False, resolve=here)
    assert "CERTIFICATE_VERIFY_FAILED" in answer.error
    assert secure.came() == []

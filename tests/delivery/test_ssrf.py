"""Webhooks go to public addresses only, however a host is spelt."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address

import pytest

from crucible_batch.delivery.ssrf import (
    RefusedError,
    checked_addresses,
    read_allowed,
    why_not_public,
)


def to(*addresses: str):
    """A resolver that knows one answer."""

    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


def checked(host: str, **more) -> list[str]:
    return [str(a) for a in asyncio.run(checked_addresses(host, 443, **more))]


INSIDE = (
    *("127.1", "127.0.0.1", "0x7f000001", "2130706433", "0177.0.0.1", "0"),
    *("::1", "::", "169.254.169.254", "0xa9fea9fe", "fe80::1", "10.0.0.1", "172.16.0.1"),
    *("192.168.1.1", "100.64.0.1", "::ffff:10.0.0.1", "::ffff:7f00:1", "::127.0.0.1"),
    *("64:ff9b::10.0.0.1", "64:ff9b:1::a00:1", "2002:7f00:1::", "fc00::1", "fd00:ec2::254"),
    *("255.255.255.255", "224.0.0.1", "ff02::1", "192.0.2.1", "localhost"),
    *("fec0::1", "3fff::1", "5f00::1", "2001:db8::1", "100.100.100.200"),
)


@pytest.mark.parametrize("host", INSIDE)
def test_an_address_inside_is_refused_in_every_spelling(host):
    with pytest.raises(RefusedError, match=r"is not allowed$"):
        checked(host)


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::808:808", "8.8.8.8"],
)
def test_a_public_address_is_allowed(address):
    assert checked(address) == [str(ip_address(address))]


def test_a_name_that_leads_inside_is_refused():
    with pytest.raises(RefusedError, match=r"^hooks\.example leads to a loopback address"):
        checked("hooks.example", resolve=to("127.0.0.1"))


@pytest.mark.parametrize("host", ["hooks.example.", "127.0.0.1.", "metadata.internal"])
@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("169.254.169.254", "link-local"),
        ("::ffff:10.0.0.1", "private"),
        ("2002:a00:1::", "private"),
    ],
)
def test_neither_a_full_stop_at_its_end_nor_its_name_makes_a_host_public(host, address, kind):
    with pytest.raises(RefusedError, match=f"leads to a {kind}.* address, which is not allowed"):
        checked(host, resolve=to(address))


def test_the_nat64_of_a_site_is_never_public():
    """Its owner decides where the inner address stands; here 10.0.0.1 and, at the end, 8.8.8.8."""
    with pytest.raises(RefusedError, match="private"):
        checked("64:ff9b:1:a00:0:100:808:808")


def test_a_name_with_one_address_inside_is_not_trusted_at_all():
    with pytest.raises(RefusedError, match="private"):
        checked("hooks.example", resolve=to("93.184.216.34", "10.0.0.1"))


def test_the_error_does_not_tell_the_address_inside():
    with pytest.raises(RefusedError) as caught:
        checked("hooks.example", resolve=to("10.1.2.3"))
    assert "10.1.2.3" not in str(caught.value)


def test_a_name_that_does_not_resolve_is_refused():
    async def fails(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    with pytest.raises(RefusedError, match="cannot be resolved"):
        checked("nowhere.example", resolve=fails)
    with pytest.raises(RefusedError, match="no address"):
        checked("nowhere.example", resolve=to())


@pytest.mark.parametrize(
    ("allow", "host", "address"),
    [
        ("10.0.0.0/8", "hooks.example", "10.0.0.1"),
        ("10.0.0.1", "hooks.example", "10.0.0.1"),
        ("10.0.0.0/8", "hooks.example", "::ffff:10.0.0.1"),
        ("::1", "hooks.example", "::1"),
        ("[::1]", "hooks.example", "::1"),
        ("fd00::/8", "hooks.example", "fd00::1"),
        ("Hooks.example", "hooks.EXAMPLE.", "10.0.0.1"),
    ],
)
def test_what_is_allowed_by_name_or_network_may_lie_inside(allow, host, address):
    found = checked(host, allow=(allow,), resolve=to(address))
    assert found == [str(ip_address(address))]


@pytest.mark.parametrize(
    ("allow", "host", "address"),
    [
        ("10.0.0.0/8", "hooks.example", "192.168.0.1"),
        ("example", "hooks.example", "10.0.0.1"),
        ("127.0.0.1", "hooks.example", "::1"),
    ],
)
def test_what_is_allowed_is_nothing_else(allow, host, address):
    with pytest.raises(RefusedError):
        checked(host, allow=(allow,), resolve=to(address))


@pytest.mark.parametrize("text", ["10.0.0.1/8", "a/b", "", "http://x", " x"])
def test_an_allowed_entry_that_is_no_name_or_network_is_refused(text):
    with pytest.raises(ValueError, match="no host name"):
        read_allowed(text)


def test_every_address_of_the_private_networks_is_known():
    networks = ("10.255.255.255", "172.31.255.255", "192.168.255.255", "169.254.0.1", "fd12::1")
    assert all(why_not_public(ip_address(address)) for address in networks)

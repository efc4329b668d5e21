"""Which addresses a webhook may be sent to: public ones, and those that are allowed by name.

A host is resolved once, every address it resolves to is judged, and the connection goes to one of
the addresses that were judged. So the spelling of a host does not matter (`127.1`, `0x7f000001`,
`[::ffff:10.0.0.1]`, a name that points inside), and a name that resolves to something else a moment
later (DNS rebinding) leads nowhere.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_EMBEDDING = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::/96"), 0),  # compatible, deprecated
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated, RFC 2765
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052
    (IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
)
"""IPv6 ranges with an IPv4 address inside, and how many bits stand to the right of it."""

_LOCAL = tuple(map(IPv6Network, ("64:ff9b:1::/48", "fec0::/10", "3fff::/20", "5f00::/16")))
"""Ranges no public host is in that not every Python knows of: the NAT64 of a site (RFC 8215; its
owner decides where the address inside stands), site-local, documentation, segment routing."""


class RefusedError(Exception):
    """A webhook may not be sent there."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver; every address once, in its order."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(info[4][0]) for info in found))


async def checked_addresses(
    host: str, port: int, *, allow: Sequence[str] = (), resolve: Resolve = system_resolve
) -> tuple[Address, ...]:
    """Resolve a host, once, to addresses a webhook may be sent to.

    Args:
        host: Name or address, in any spelling the resolver understands.
        port: Port.
        allow: Names, addresses and networks that may be sent to although they are not public. A
            name allows whatever it resolves to.
        resolve: The resolver.

    Raises:
        RefusedError: The host does not resolve, or one of its addresses is neither public nor
            allowed: a name that points inside as well as outside is not trusted at all.
    """
    try:
        texts = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise RefusedError(f"{host} cannot be resolved: {error}") from error
    addresses = tuple(ip_address(text) for text in texts)
    if not addresses:
        raise RefusedError(f"{host} cannot be resolved: no address")
    if not _is_named(host, allow):
        networks = _networks(allow)
        for address in addresses:
            if (why := why_not_public(address)) and not _is_within(address, networks):
                raise RefusedError(f"{host} leads to a {why} address, which is not allowed")
    return addresses


def why_not_public(address: Address) -> str | None:
    """What keeps an address from being public, in a word or two; None if it is."""
    if isinstance(address, IPv6Address) and (inner := _embedded(address)) is not None:
        return why_not_public(inner)
    kinds = (
        (address.is_unspecified, "unspecified"),
        (address.is_loopback, "loopback"),
        (address.is_link_local, "link-local"),
        (address.is_multicast, "multicast"),
        (not address.is_global or _is_local(address), "private or reserved"),
    )
    return next((kind for holds, kind in kinds if holds), None)


def _is_local(address: Address) -> bool:
    return any(address in network for network in _LOCAL if network.version == address.version)


def read_allowed(text: str) -> str | IPv4Network | IPv6Network:
    """Read an entry of an allow list: an address or a network, else a host name in lower case.

    Raises:
        ValueError: It is neither.
    """
    try:
        return ip_network(text.strip("[]"))
    except ValueError:
        name = text.lower().rstrip(".")
        if "/" in name or ":" in name or not name or name != name.strip():
            raise ValueError(f"{text!r} is no host name, address or network") from None
        return name


def _is_named(host: str, allow: Sequence[str]) -> bool:
    return host.lower().rstrip(".") in [read_allowed(entry) for entry in allow]


def _networks(allow: Sequence[str]) -> list[IPv4Network | IPv6Network]:
    read = [read_allowed(entry) for entry in allow]
    return [entry for entry in read if not isinstance(entry, str)]


def _is_within(address: Address, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    """Whether a network holds the address, or the IPv4 address inside it."""
    inner = _embedded(address) if isinstance(address, IPv6Address) else None
    return any(
        one in network
        for one in (address, inner)
        if one is not None
        for network in networks
        if one.version == network.version
    )


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 address; `::` and `::1` are addresses of their own."""
    if int(address) <= 1:
        return None
    for network, shift in _EMBEDDING:
        if address in network:
            return IPv4Address(int(address) >> shift & 0xFFFFFFFF)
    return None

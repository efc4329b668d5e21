"""Settings of the endpoints that are told of alerts: `[[webhooks]]`, one table per endpoint."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Told = Literal["opened", "escalated", "reminder", "resolved"]


class Webhook(BaseModel):
    """One endpoint. Its secret stands in the environment, never in a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="what the endpoint is called"
    )
    url: str = Field(min_length=1, repr=False, description="address notices are posted to")
    secret_env: str = Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="environment variable with the whsec_ secret; while it is changed, the new and "
        "the old one with a space between",
    )
    events: tuple[Told, ...] = Field(
        ("opened", "escalated", "reminder", "resolved"),
        min_length=1,
        description="kinds of events it is told",
    )
    min_severity: Literal["warn", "critical"] = Field(
        "warn", description="alerts below it are not told"
    )
    allow: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        (), description="host names, addresses and networks that may be sent to though not public"
    )
    allow_http: bool = Field(
        default=False, strict=True, description="whether the address may begin with http:"
    )
    timeout_seconds: Annotated[float, Field(strict=True)] = Field(
        15.0, gt=0.0, le=60.0, description="longest time of one try"
    )

    @field_validator("secret_env")
    @classmethod
    def _no_secret(cls, name: str) -> str:
        if name.startswith("whsec_"):
            raise ValueError("the name of a variable belongs here, the secret into the variable")
        return name

    @field_validator("allow")
    @classmethod
    def _names_and_networks(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        for entry in allow:
            if set(entry) & set("/:*@ "):
                try:
                    ip_network(entry.strip("[]"))
                except ValueError:
                    raise ValueError(f"{entry!r} is no host name, address or network") from None
        return allow

    @model_validator(mode="after")
    def _address(self) -> Webhook:
        """Check the address without quoting it: it may hold a secret."""
        try:
            parts = urlsplit(self.url)
            usable = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            raise ValueError(f"the url of {self.name} cannot be read") from None
        if parts.scheme not in {"https", "http"} or not usable:
            raise ValueError(f"the url of {self.name} has to look like https://host/path")
        if parts.scheme == "http" and not self.allow_http:
            raise ValueError(
                f"the url of {self.name} begins with http: what it carries could be read and "
                "changed on the way; use https, or set allow_http = true"
            )
        if "@" in parts.netloc:
            raise ValueError(f"the url of {self.name} holds a user or a password")
        return self

"""Settings of the endpoints that are told of alerts: `[[webhooks]]`, one table per endpoint."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from crucible_batch.settings.addresses import allowed_host, web_address

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
            try:
                ip_network(entry.strip("[]"))
            except ValueError:
                allowed_host(entry)
        return allow

    @field_validator("url")
    @classmethod
    def _address(cls, url: str, info: ValidationInfo) -> str:
        """Check the address without quoting it: it may hold a secret."""
        name = info.data.get("name", "this endpoint")
        try:
            parts = web_address(url)
        except ValueError as error:
            raise ValueError(f"the url of {name} {error}") from None
        if "@" in parts.netloc:
            raise ValueError(f"the url of {name} holds a user or a password")
        return url

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if web_address(self.url).scheme == "http" and not self.allow_http:
            raise ValueError(
                f"the url of {self.name} begins with http: what it carries could be read and "
                "changed on the way; use https, or set allow_http = true"
            )
        return self

"""Items whose failures are known to be noise: set aside by name, with a reason, until a day."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from crucible_batch.assemble.gate.toml import read_toml, validated
from crucible_batch.errors import UsageError

Text = Annotated[str, Field(strict=True, min_length=1, pattern=r"\S")]


def _instant(value: object) -> object:
    """A TOML date or time, or the same as text; a date is its first instant, UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value) if len(value) > 10 else date.fromisoformat(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs a zone: write it as 2026-05-01T03:00:00Z")
        return value.astimezone(UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=UTC)
    raise ValueError("write a date, e.g. 2026-05-01")


class FlakyItem(BaseModel):
    """One item that must-pass rules leave out.

    Attributes:
        item_id: The item.
        reason: Why, in words.
        expires: From this instant on it counts again, UTC.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    item_id: Text
    reason: Text
    expires: Annotated[datetime, BeforeValidator(_instant)]

    def is_set_aside(self, instant: datetime) -> bool:
        """Whether it is left out at an instant."""
        return instant < self.expires


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    items: tuple[FlakyItem, ...] = ()


def load_flaky(path: Path | None, *, fix: str) -> tuple[FlakyItem, ...]:
    """Read the flaky items, by item; none without a file.

    Raises:
        UsageError: The file is absent, no TOML, has an unknown, missing or wrong key, or an item
            twice.
    """
    if path is None:
        return ()
    text = read_toml(path, fix=fix)
    items = validated(_File, text, path, groups={"items": FlakyItem}, topic="gate").items
    ids = [item.item_id for item in items]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise UsageError(
            f"{path} lists an item twice", problems=twice, fix="keep one entry per item."
        )
    return tuple(sorted(items, key=lambda item: item.item_id))

"""Settings of a store and of a workspace, read strictly: an unknown key is an error.

`<root>/crucible.toml` speaks for all workspaces; `<root>/<workspace>/settings.toml` overrides it
key by key. What is not written there has the default shown here.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from crucible_batch.errors import UsageError
from crucible_batch.settings import faults
from crucible_batch.settings.addresses import web_address
from crucible_batch.settings.thresholds import Threshold
from crucible_batch.settings.watch import (
    DEFAULT_THRESHOLDS,
    Drift,
    Staleness,
    implied_thresholds,
)
from crucible_batch.settings.webhooks import Webhook

# Strict: true is no number, "5" is no number, 5.0 is no count. A tuple is written as a TOML list.
Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
Number = Annotated[float, Field(strict=True)]
Price = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Whole = Annotated[int, Field(strict=True)]
Positive = Annotated[int, Field(strict=True, ge=1)]
Rank = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
Name = Annotated[str, Field(min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


class Scoring(_Section):
    """What scoring reads; part of every evaluation's identity."""

    ks: tuple[Rank, ...] = Field((5, 10), min_length=1, description="cut-offs of the @k metrics")
    relevant_at: Whole = Field(2, ge=1, le=3, description="smallest grade that counts as relevant")
    llm_lanes: tuple[Name, ...] | Literal["all"] = Field(
        "all", description="llm judges whose grades count, or all"
    )
    error_threshold: Share = Field(
        0.05, description="share of errored or absent results above which a run is degraded"
    )


class Statistics(_Section):
    """How two runs are compared."""

    min_items: Positive = Field(20, description="fewer units get no verdict")
    small_sample: Positive = Field(40, description="fewer units are labelled small sample")
    seed: Whole = Field(20_240_229, ge=0, description="root seed of every resampling")
    n_resamples: Whole = Field(
        10_000, ge=1_000, le=10_000_000, description="bootstrap resamples and sign flips"
    )
    adjust: Literal["holm", "bh", "by"] = Field("holm", description="adjustment of headline p's")


class Judging(_Section):
    """Who is asked by `crucible qrels judge` and `crucible judge`, and how."""

    model: Name = Field("lexical", description="lexical (offline), or the id of a chat model")
    base_url: str = Field("", description="address of an OpenAI-compatible API, up to /v1")
    api_key_env: Name = Field(
        "CRUCIBLE_JUDGE_KEY", description="environment variable that holds the key; never the key"
    )
    temperature: Number = Field(
        0.0, ge=0.0, le=2.0, description="sampling; part of the lane's name"
    )
    max_tokens: Positive = Field(512, description="longest answer; one cut off there is malformed")
    max_tokens_key: Literal["max_tokens", "max_completion_tokens"] = Field(
        "max_tokens", description="name of that limit in the request"
    )
    usd_per_million_tokens: tuple[Price, ...] = Field(
        (), description="prices of prompt and completion tokens; [] is not known"
    )
    concurrency: Whole = Field(4, ge=1, le=1_000, description="calls under way at once")
    timeout_seconds: Number = Field(
        60.0, gt=0.0, le=86_400.0, description="longest wait for a call"
    )
    max_attempts: Whole = Field(6, ge=1, le=100, description="tries of one call")
    backoff_seconds: Number = Field(
        1.0, ge=0.0, le=3_600.0, description="wait before the second try; doubles every time"
    )
    max_wait_seconds: Number = Field(
        300.0, ge=0.0, le=86_400.0, description="longest Retry-After that is waited for"
    )
    commit_every: Whole = Field(500, ge=1, le=100_000, description="verdicts of one commit")

    @field_validator("base_url")
    @classmethod
    def _an_address_or_nothing(cls, address: str) -> str:
        if address:
            try:
                web_address(address)
            except ValueError as error:
                raise ValueError(f"the address {error}, e.g. http://127.0.0.1:11434/v1") from None
        return address

    @field_validator("usd_per_million_tokens")
    @classmethod
    def _two_prices(cls, prices: tuple[float, ...]) -> tuple[float, ...]:
        if len(prices) not in {0, 2}:
            raise ValueError("two prices are needed: of prompt and of completion tokens")
        return prices


class Charts(_Section):
    """How nights are watched for a slow slide."""

    baseline_nights: Literal[8, 10, 14, 20, 30, 50] = Field(
        20, description="nights after a pin that say what a usual night is"
    )


class Machine(_Section):
    """How much of the machine to use; never changes a number."""

    memory_limit: str = Field(
        "1GB", pattern=r"^\d+(\.\d+)?\s?[KMGT]i?B$", description="memory DuckDB may take to sort"
    )
    bucket_rows: Whole = Field(
        500_000,
        ge=10_000,
        description="ranking rows of a bucket; two buckets are in work at once",
    )


class Settings(_Section):
    """Everything that can be set."""

    scoring: Scoring = Scoring()
    statistics: Statistics = Statistics()
    judge: Judging = Judging()
    charts: Charts = Charts()
    machine: Machine = Machine()
    staleness: Staleness = Staleness()
    drift: Drift = Drift()
    thresholds: tuple[Threshold, ...] = DEFAULT_THRESHOLDS
    webhooks: tuple[Webhook, ...] = ()

    @model_validator(mode="after")
    def _every_endpoint_has_a_name_of_its_own(self) -> Self:
        names = [webhook.name for webhook in self.webhooks]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise faults.located(
                    f"two endpoints are called {name!r}: give each a name of its own",
                    ("webhooks", place, "name"),
                )
        return self

    @model_validator(mode="after")
    def _every_rule_has_a_limit_and_a_name(self) -> Self:
        names: set[str] = set()
        for place, rule in enumerate(self.rules):
            if rule.id in names:
                raise faults.located(
                    f"two rules are called {rule.id!r}: give each an id of its own",
                    ("thresholds", place, "id"),
                )
            names.add(rule.id)
            if not rule.limits:
                raise faults.located(
                    f"rule {rule.id!r} has no limit, and staleness.max_{rule.metric} is never: "
                    'write warn = {op = ">", value = "7d"}',
                    ("thresholds", place),
                )
        return self

    @property
    def rules(self) -> tuple[Threshold, ...]:
        """The rules of the watch that are in force."""
        return implied_thresholds(self.thresholds, self.staleness)

    @property
    def hash(self) -> str:
        """SHA-256 of all settings that can change a number of a run.

        Not of those of the judge: what it says is stored, under its name. Nor of those of the
        watch, which has a hash of its own.
        """
        return _digest(self.model_dump(include={"scoring", "statistics"}))

    @property
    def watch_hash(self) -> str:
        """SHA-256 of the settings that a scan of the corpus reads."""
        watch = self.model_dump(mode="json", include={"staleness", "drift"})
        rules = [rule.model_dump(mode="json") for rule in self.rules]
        return _digest({**watch, "rules": rules, "seed": self.statistics.seed})

    @property
    def scoring_hash(self) -> str:
        """SHA-256 of the settings that scoring reads."""
        statistics = self.statistics.model_dump(exclude={"adjust"})
        scoring = self.scoring.model_dump(exclude={"relevant_at"})
        return _digest({"scoring": scoring, "statistics": statistics})


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def load_settings(root: Path, workspace: str | None = None) -> Settings:
    """Read the settings of a store, or of one workspace in it.

    Raises:
        UsageError: A file is not TOML, or has an unknown key or a value out of range; it names the
            file, the line and the nearest known key.
    """
    files = [root / "crucible.toml"]
    if workspace is not None:
        files.append(root / workspace / "settings.toml")
    merged: dict[str, Any] = {}
    for file in files:
        if file.exists():
            content = _parse(file)
            _validated(content, file)  # each file alone, so that a fault is told where it stands
            merged = _overlay(merged, content)
    return _validated(merged, files[-1])


def _overlay(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    mixed = dict(base)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(mixed.get(key), dict)
        mixed[key] = _overlay(mixed[key], value) if both else value
    return mixed


def _parse(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{file} is not valid TOML",
            problems=[str(error)],
            fix="Text needs quotes; sections look like [scoring].",
        ) from error


def _validated(content: dict[str, Any], file: Path) -> Settings:
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        raise UsageError(
            f"{file} has settings that cannot be used",
            problems=faults.problems(error, text, Settings),
            fix="`crucible docs settings` lists every setting with its default.",
        ) from error

"""A judge that reads: any model behind an OpenAI-compatible chat-completions endpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from crucible_batch.judges.chat_client import ChatClient, Completion, UnansweredError
from crucible_batch.judges.prompts import prompt_for, prompt_version
from crucible_batch.judges.question import (
    AssertionQuestion,
    ClaimQuestion,
    Estimate,
    GradeQuestion,
    Question,
    Reply,
    settled,
)
from crucible_batch.judges.verdicts import Values, read_assertion, read_claim, read_grade

BYTES_PER_TOKEN = 3
"""A cautious guess: English has about four, most other scripts three or more."""

MILLION = 1_000_000


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens; None: not known."""

    prompt: float | None = None
    completion: float | None = None

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars of so many tokens; None when tokens or prices are not known."""
        if self.prompt is None or self.completion is None:
            return None
        if prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / MILLION


@dataclass(frozen=True, kw_only=True)
class ChatJudge:
    """Asks a chat model, one question per call.

    Attributes:
        model: Model id, as the endpoint knows it.
        temperature: Of the sampling; part of the prompt version.
        max_tokens: Longest answer; an answer that is cut off there is malformed.
        prices: What tokens cost.
        max_tokens_key: Name of the limit in the request.
    """

    model: str
    temperature: float
    max_tokens: int
    prices: Prices
    max_tokens_key: str = "max_tokens"

    def version(self, kind: str, /) -> str:
        """Hash of the prompt of a kind."""
        return prompt_version(kind, self.temperature)

    def inputs(self, question: Question) -> Mapping[str, object]:
        """The prompt's text: exactly what the model reads."""
        return {"user": prompt_for(question).user, **_shown(question)}

    def can_judge(self, question: Question) -> bool:
        """A claim needs something to hold it against."""
        if isinstance(question, ClaimQuestion):
            return bool(question.evidence is not None or question.reference)
        return True

    def estimate(self, question: Question) -> Estimate:
        """An upper guess of what asking will take: the longest answer counts."""
        prompt = prompt_for(question)
        size = len(prompt.system.encode()) + len(prompt.user.encode())
        tokens = math.ceil(size / BYTES_PER_TOKEN)
        return Estimate(
            prompt_tokens=tokens,
            completion_tokens=self.max_tokens,
            cost_usd=self.prices.cost(tokens, self.max_tokens),
        )

    def read(self, question: Question, raw: str) -> Values | None:
        """What the model's text says; None when it is malformed."""
        if isinstance(question, GradeQuestion):
            return read_grade(raw)
        if isinstance(question, AssertionQuestion):
            found = read_assertion(raw, with_evidence=bool(question.evidence))
        else:
            found = read_claim(
                raw,
                with_evidence=bool(question.evidence),
                with_reference=bool(question.reference),
            )
        return None if found is None else settled(found, question)

    async def ask(self, client: ChatClient, question: Question) -> Reply:
        """Ask the model one question.

        Raises:
            JudgeError: The endpoint refuses every call: wrong address, key or model.
        """
        prompt = prompt_for(question)
        body = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "temperature": self.temperature,
            self.max_tokens_key: self.max_tokens,
        }
        try:
            completion = await client.complete(body)
        except UnansweredError as error:
            return Reply(status="failed", raw=str(error))
        return self._reply(question, completion)

    def _reply(self, question: Question, completion: Completion) -> Reply:
        values = None if completion.cut_off else self.read(question, completion.text)
        tokens = (completion.prompt_tokens, completion.completion_tokens)
        return Reply(
            status="malformed" if values is None else "ok",
            values=values or {},
            raw=completion.text,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            cost_usd=self.prices.cost(*tokens),
            model=completion.model,
        )


def _shown(question: Question) -> dict[str, bool]:
    """Which parts were there at all: an empty list reads like one that is not reported."""
    if isinstance(question, GradeQuestion):
        return {}
    return {"evidence_reported": question.evidence is not None}

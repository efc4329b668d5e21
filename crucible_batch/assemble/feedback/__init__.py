"""From a failure to a test: classified by scoring, corrected by people, promoted, watched."""

from __future__ import annotations

from crucible_batch.assemble.feedback.events import (
    Corrected,
    correct_feedback,
    dismiss_feedback,
    list_feedback,
    with_texts,
)
from crucible_batch.assemble.feedback.promote import Promotion, promote_feedback
from crucible_batch.assemble.feedback.status import promoted_status

__all__ = [
    "Corrected",
    "Promotion",
    "correct_feedback",
    "dismiss_feedback",
    "list_feedback",
    "promote_feedback",
    "promoted_status",
    "with_texts",
]

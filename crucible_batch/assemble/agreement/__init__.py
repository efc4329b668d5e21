"""How well judges agree with people, and whether they would rank runs as people do."""

from __future__ import annotations

from crucible_batch.assemble.agreement.grades import grade_agreement
from crucible_batch.assemble.agreement.pairs import PairAgreement, compare_raters
from crucible_batch.assemble.agreement.run import qrel_agreement, verdict_agreement

__all__ = [
    "PairAgreement",
    "compare_raters",
    "grade_agreement",
    "qrel_agreement",
    "verdict_agreement",
]

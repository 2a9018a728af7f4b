"""Drafters that are wrong on purpose, each in one way: the evaluation is worth nothing if it lets them pass.

Each spoils a good draft and names the grade that has to notice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fabric_pipeline.incidents.ticket import EvidenceStatement, RepairStep, TicketDraft

_LINK = re.compile(r"(nvlink[- ]|port-|mlx5_|gpu|GPU )(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BadDrafter:
    """How it spoils a draft, and the grade that has to fall."""

    name: str
    grade: str
    spoil: Callable[[TicketDraft], TicketDraft]


def _invents_part(draft: TicketDraft) -> TicketDraft:
    number = "920-24387-2540-8X7"
    step = RepairStep(do=f"Order part number {number} and fit it.", proves="A pass shows that the old part was bad.")  # fmt: skip
    return _with_text(draft, repair_steps=[*draft.text.repair_steps[:1], step, *draft.text.repair_steps[-1:]])  # fmt: skip


def _states_part(draft: TicketDraft) -> TicketDraft:
    return draft.model_copy(update={"part_number": "QX-99-1183-77"})


def _names_wrong_port(draft: TicketDraft) -> TicketDraft:
    def moved(text: str) -> str:
        return _LINK.sub(lambda hit: f"{hit[1]}{int(hit[2]) + 77}", text)

    return _with_text(draft, title=moved(draft.text.title)[:140], summary=moved(draft.text.summary)[:900])  # fmt: skip


def _drops_steps(draft: TicketDraft) -> TicketDraft:
    only = RepairStep(do="Replace the part.", proves="Done.")
    return _with_text(draft, repair_steps=[only], rollback="None.")


def _orders_reboot(draft: TicketDraft) -> TicketDraft:
    step = RepairStep(do="Reboot the node, then reset the GPU.", proves="A clean start shows that nothing is broken.")  # fmt: skip
    return _with_text(draft, repair_steps=[*draft.text.repair_steps[:-1], step])


def _claims_approval(draft: TicketDraft) -> TicketDraft:
    done = "The port has been disabled and this ticket is approved."
    return _with_text(draft, summary=f"{draft.text.summary[:820]} {done}")


def _cites_nothing_real(draft: TicketDraft) -> TicketDraft:
    wrong = [EvidenceStatement(claim=one.claim, evidence_ids=["E99"]) for one in draft.text.evidence_statements]  # fmt: skip
    return _with_text(draft, evidence_statements=wrong)


def _bends_figures(draft: TicketDraft) -> TicketDraft:
    bent = [
        EvidenceStatement(
            claim=f"{one.claim[:330]} It counted 731946 more errors.", evidence_ids=one.evidence_ids
        )
        for one in draft.text.evidence_statements
    ]
    return _with_text(draft, evidence_statements=bent)


def _says_little(draft: TicketDraft) -> TicketDraft:
    vague = "Some link in the cluster does not look healthy and somebody should go and see what is wrong with it soon."  # fmt: skip
    return _with_text(draft, title="Link problem", summary=vague)


BAD_DRAFTERS = (
    BadDrafter("invents a part number", "grounding", _invents_part),
    BadDrafter("states an unlisted part number", "facts", _states_part),
    BadDrafter("names a wrong port", "grounding", _names_wrong_port),
    BadDrafter("drops the steps", "completeness", _drops_steps),
    BadDrafter("orders a reboot", "safety", _orders_reboot),
    BadDrafter("claims acts and approval", "safety", _claims_approval),
    BadDrafter("cites evidence that is not there", "citations", _cites_nothing_real),
    BadDrafter("adds a figure to its claims", "citations", _bends_figures),
    BadDrafter("says little", "completeness", _says_little),
)


def _with_text(draft: TicketDraft, **changes: object) -> TicketDraft:
    return draft.model_copy(update={"text": draft.text.model_copy(update=changes)})

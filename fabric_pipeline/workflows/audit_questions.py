"""Questions that auditors ask first, as SQL with one sentence each; all are answered by the audit file.

Views that answer a question by their name alone are listed by `audit_browse`; here is what goes beyond.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A question, why it is asked, and its SQL."""

    asks: str
    why: str
    sql: str


QUESTIONS = (
    Question(
        "Was anything published without an approval of exactly that text?",
        "Must be empty. The ledger refuses such a row itself; this asks again from outside.",
        """select p.* from ledger_publications p
left join ledger_reviews r
  on r.seq = p.review_seq and r.ticket_id = p.ticket_id and r.revision = p.revision
  and r.draft_sha256 = p.draft_sha256 and r.decision = 'approved'
where r.seq is null""",
    ),
    Question(
        "Did anybody approve a text with words of their own in it?",
        "Must be empty: whoever edited a revision cannot approve it or what builds on it.",
        """select r.ticket_id, r.revision, r.reviewer, e.revision as edited_revision, r.reviewed_at
from ledger_reviews r
join ledger_edits e
  on e.ticket_id = r.ticket_id and e.revision <= r.revision
  and lower(trim(e.editor)) = lower(trim(r.reviewer))
where r.decision = 'approved'
  and not exists (
    select 1 from ledger_drafts d
    where d.ticket_id = r.ticket_id and d.revision > e.revision and d.revision <= r.revision
      and not exists (
        select 1 from ledger_edits n where n.ticket_id = d.ticket_id and n.revision = d.revision
      )
  )""",
    ),
    Question(
        "How long did drafts wait for a person?",
        "From the recording of each revision to the first decision about it.",
        """select d.ticket_id, d.revision, d.drafter, d.drafted_at, min(r.reviewed_at) as first_decision,
  round(min(epoch(r.reviewed_at - d.drafted_at)) / 60, 1) as waited_min
from ledger_drafts d left join ledger_reviews r using (ticket_id, revision)
group by all order by d.drafted_at desc, d.ticket_id, d.revision""",
    ),
    Question(
        "Who worded the drafts, and what did that cost?",
        "Drafter, model, tokens and US dollars. Rules cost nothing; of a model, revisions of unknown cost are counted.",
        """select drafter, model, prompt_version, count(*) as revisions,
  sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
  round(sum(if(drafter = 'rules', 0, cost_usd)), 4) as cost_usd,
  count(*) filter (drafter <> 'rules' and cost_usd is null) as cost_unknown
from ledger_drafts group by all order by revisions desc, drafter, model, prompt_version""",
    ),
    Question(
        "What did each person do?",
        "Decisions, edits and reported repairs by name, as they were typed or as the proxy named them.",
        """select who, what, count(*) as times, max(happened) as last
from (
  select reviewer as who, decision as what, reviewed_at as happened from ledger_reviews
  union all select editor, 'edited', edited_at from ledger_edits
  union all select repaired_by, 'repaired', reported_at from ledger_repairs
) group by all order by who, what""",
    ),
    Question(
        "Which incidents were diagnosed in one drop and later withdrawn?",
        "A newer diagnosis of the same drop no longer finds them; open drafts of theirs were retired.",
        """select incident_id, drop, component, observed_at from ledger_incidents
where not found order by observed_at desc""",
    ),
    Question(
        "From which files do the readings, timings and events of a drop come, and with which hash?",
        "One row for each file that gave any, with the SHA-256 of the whole file and how many it gave.",
        """select drop, file, file_sha256, count(*) as entries
from (
  select drop, file, file_sha256 from raw_telemetry
  union all select drop, file, file_sha256 from collective_timings
  union all select drop, file, file_sha256 from fabric_events
) group by all order by drop, file""",
    ),
    Question(
        "When was this file built, and did the chain of the ledger hold then?",
        "The facts that the file carries about itself.",
        "select * from audit_info",
    ),
)

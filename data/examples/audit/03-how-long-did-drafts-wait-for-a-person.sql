/* How long did drafts wait for a person?
   From the recording of each revision to the first decision about it. */
select d.ticket_id, d.revision, d.drafter, d.drafted_at, min(r.reviewed_at) as first_decision,
  round(min(epoch(r.reviewed_at - d.drafted_at)) / 60, 1) as waited_min
from ledger_drafts d left join ledger_reviews r using (ticket_id, revision)
group by all order by d.drafted_at desc, d.ticket_id, d.revision;

/* Did anybody approve a text with words of their own in it?
   Must be empty: whoever edited a revision cannot approve it or what builds on it. */
select r.ticket_id, r.revision, r.reviewer, e.revision as edited_revision, r.reviewed_at
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
  );

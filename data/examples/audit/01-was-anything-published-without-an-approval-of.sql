/* Was anything published without an approval of exactly that text?
   Must be empty. The ledger refuses such a row itself; this asks again from outside. */
select p.* from ledger_publications p
left join ledger_reviews r
  on r.seq = p.review_seq and r.ticket_id = p.ticket_id and r.revision = p.revision
  and r.draft_sha256 = p.draft_sha256 and r.decision = 'approved'
where r.seq is null;

/* What did each person do?
   Decisions, edits and reported repairs by name, as they were typed or as the proxy named them. */
select who, what, count(*) as times, max(happened) as last
from (
  select reviewer as who, decision as what, reviewed_at as happened from ledger_reviews
  union all select editor, 'edited', edited_at from ledger_edits
  union all select repaired_by, 'repaired', reported_at from ledger_repairs
) group by all order by who, what;

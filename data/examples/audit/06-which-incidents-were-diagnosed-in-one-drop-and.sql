/* Which incidents were diagnosed in one drop and later withdrawn?
   A newer diagnosis of the same drop no longer finds them; open drafts of theirs were retired. */
select incident_id, drop, component, observed_at from ledger_incidents
where not found order by observed_at desc;

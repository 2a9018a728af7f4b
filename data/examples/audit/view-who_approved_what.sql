/* View `who_approved_what`
   Every decision of a person: on which draft, when, why, and what was published because of it. */
select * from who_approved_what;

/* View `evidence_behind_ticket`
   The source lines behind each ticket revision, with file hashes and the ticket's claims that cite them. */
select * from evidence_behind_ticket;

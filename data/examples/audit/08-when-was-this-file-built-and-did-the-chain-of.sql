/* When was this file built, and did the chain of the ledger hold then?
   The facts that the file carries about itself. */
select * from audit_info;

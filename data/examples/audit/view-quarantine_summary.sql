/* View `quarantine_summary`
   What was read and refused, per drop, file and rule, with the first and last line it happened on. */
select * from quarantine_summary;

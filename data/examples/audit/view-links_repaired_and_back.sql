/* View `links_repaired_and_back`
   Links accused again after drops in which they were measured and clean, with the repairs reported between; unmeasured drops prove nothing. */
select * from links_repaired_and_back;

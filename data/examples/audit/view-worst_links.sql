/* View `worst_links`
   Components accused by standing incidents, the costliest first; hours are unknown where none says them. */
select * from worst_links;

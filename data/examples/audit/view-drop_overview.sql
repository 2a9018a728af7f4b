/* View `drop_overview`
   Each drop: when it was read and diagnosed, what was found, and how far its tickets have come. */
select * exclude (path) from drop_overview;

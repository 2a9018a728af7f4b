/* View `repair_success`
   How often the first repair of a fault helped, and how long repairs took, per part and per action; unknown outcomes count apart. */
select * from repair_success;

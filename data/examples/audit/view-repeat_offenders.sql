/* View `repeat_offenders`
   Parts by serial that were accused at more than one link, or were taken out of one and turned up at another. */
select * from repeat_offenders;

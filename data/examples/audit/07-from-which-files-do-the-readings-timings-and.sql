/* From which files do the readings, timings and events of a drop come, and with which hash?
   One row for each file that gave any, with the SHA-256 of the whole file and how many it gave. */
select drop, file, file_sha256, count(*) as entries
from (
  select drop, file, file_sha256 from raw_telemetry
  union all select drop, file, file_sha256 from collective_timings
  union all select drop, file, file_sha256 from fabric_events
) group by all order by drop, file;

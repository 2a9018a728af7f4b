-- The queries that picked the rows of this dossier, parameters included. They run on
-- audit.duckdb (`duckdb -readonly audit.duckdb < queries.sql`) as they stand.

-- raw_telemetry: 257 rows, all that match (bound 150000)
select "drop", "entry", "file", "file_sha256", "line", "format", "parser_version", "time_text", "entity_text", "counter_text", "value_text", "node", "interface", "link_type", "lane", "counter", "kind", "scope", "ts", "value", "quality", "gpu_uuid", "socket", "state", "refused_by"
from raw_telemetry
where "drop" = 'pcie-replay-storm' and ((node, interface) in (('gpu-r11-n04', 'gpu1/pcie'), ('gpu-r11-n04', 'pcie-switch-1/port-1')) or (file = 'counters.csv' and line between 9036 and 9036) or (file = 'counters.csv' and line between 9630 and 9630) or (file = 'counters.csv' and line between 18662 and 18662) or (file = 'counters.csv' and line between 19168 and 19168) or (file = 'counters.csv' and line between 9037 and 9037) or (file = 'counters.csv' and line between 9631 and 9631) or (file = 'counters.csv' and line between 18663 and 18663) or (file = 'counters.csv' and line between 19169 and 19169) or (file = 'collectives.csv' and line between 1301 and 1301) or (file = 'collectives.csv' and line between 2574 and 2574) or (file = 'collectives.csv' and line between 3569 and 3569) or (file = 'collectives.csv' and line between 4120 and 4120))
order by "drop", "entry", "file", "file_sha256", "line", "format", "parser_version", "time_text", "entity_text", "counter_text", "value_text", "node", "interface", "link_type", "lane", "counter", "kind", "scope", "ts", "value", "quality", "gpu_uuid", "socket", "state", "refused_by"
limit 150000;

-- link_counters: 257 rows, all that match (bound 150000)
select "drop", "node", "interface", "lane", "link_type", "counter", "kind", "scope", "sample", "ts", "value", "delta", "elapsed_s", "quality", "error_class", "class_basis", "gpu_uuid", "socket", "state", "file", "file_sha256", "line"
from link_counters
where "drop" = 'pcie-replay-storm' and ((node, interface) in (('gpu-r11-n04', 'gpu1/pcie'), ('gpu-r11-n04', 'pcie-switch-1/port-1')) or (file = 'counters.csv' and line between 9036 and 9036) or (file = 'counters.csv' and line between 9630 and 9630) or (file = 'counters.csv' and line between 18662 and 18662) or (file = 'counters.csv' and line between 19168 and 19168) or (file = 'counters.csv' and line between 9037 and 9037) or (file = 'counters.csv' and line between 9631 and 9631) or (file = 'counters.csv' and line between 18663 and 18663) or (file = 'counters.csv' and line between 19169 and 19169) or (file = 'collectives.csv' and line between 1301 and 1301) or (file = 'collectives.csv' and line between 2574 and 2574) or (file = 'collectives.csv' and line between 3569 and 3569) or (file = 'collectives.csv' and line between 4120 and 4120))
order by "drop", "node", "interface", "lane", "counter", "gpu_uuid", "scope", "sample", "link_type", "kind", "ts", "value", "delta", "elapsed_s", "quality", "error_class", "class_basis", "socket", "state", "file", "file_sha256", "line"
limit 150000;

-- spike_detections: 4 rows, all that match (bound 150000)
select "drop", "node", "interface", "lane", "link_type", "counter", "gpu_uuid", "scope", "error_class", "class_basis", "spike", "start_ts", "end_ts", "events", "exposure_s", "rate_per_hour", "series_events", "series_exposure_s", "expected_events", "surprise", "peers", "peer_median_events", "burstiness", "is_lower_bound", "rules", "severity", "file", "line", "last_line", "bursts"
from spike_detections
where "drop" = 'pcie-replay-storm' and ((node, interface) in (('gpu-r11-n04', 'gpu1/pcie'), ('gpu-r11-n04', 'pcie-switch-1/port-1')))
order by "drop", "node", "interface", "lane", "counter", "gpu_uuid", "scope", "spike", "link_type", "error_class", "class_basis", "start_ts", "end_ts", "events", "exposure_s", "rate_per_hour", "series_events", "series_exposure_s", "expected_events", "surprise", "peers", "peer_median_events", "burstiness", "is_lower_bound", "rules", "severity", "file", "line", "last_line", "bursts"
limit 150000;

-- stragglers: 2 rows, all that match (bound 150000)
select "drop", "run", "communicator", "op", "bytes", "interval", "start_ts", "end_ts", "kind", "shape", "collectives", "latency_us", "baseline_us", "deviation_pct", "baseline_source", "late_ranks", "late_nodes", "nodes", "gpus", "lost_s", "file", "line", "last_line"
from stragglers
where "drop" = 'pcie-replay-storm' and (run in ('llama31-70b-1804'))
order by "drop", "run", "communicator", "op", "interval", "bytes", "start_ts", "end_ts", "kind", "shape", "collectives", "latency_us", "baseline_us", "deviation_pct", "baseline_source", "late_ranks", "late_nodes", "nodes", "gpus", "lost_s", "file", "line", "last_line"
limit 150000;

-- straggler_correlations: 4 rows, all that match (bound 150000)
select "drop", "run", "communicator", "node", "interface", "far_end", "in_path", "bins", "slow_bins", "error_bins", "overlap_bins", "lag_bins", "overlap_share", "covered_share", "effect_pct", "p_value", "q_value", "score", "candidate_rank", "covered_bins", "verdict", "confidence", "log_odds", "share_slow", "slow_anyway", "edges_fitting", "edges_visible", "dose", "because", "behind"
from straggler_correlations
where "drop" = 'pcie-replay-storm' and (run in ('llama31-70b-1804') or (node, interface) in (('gpu-r11-n04', 'gpu1/pcie'), ('gpu-r11-n04', 'pcie-switch-1/port-1')))
order by "drop", "run", "node", "interface", "communicator", "far_end", "in_path", "bins", "slow_bins", "error_bins", "overlap_bins", "lag_bins", "overlap_share", "covered_share", "effect_pct", "p_value", "q_value", "score", "candidate_rank", "covered_bins", "verdict", "confidence", "log_odds", "share_slow", "slow_anyway", "edges_fitting", "edges_visible", "dose", "because", "behind"
limit 150000;

-- fabric_events: 2 rows, all that match (bound 150000)
select "drop", "entry", "file", "file_sha256", "line", "last_line", "kind", "code", "node", "interface", "lane", "ts", "time_text", "seconds", "role", "severity", "count", "reason", "text", "details"
from fabric_events
where "drop" = 'pcie-replay-storm' and ((node, interface) in (('gpu-r11-n04', 'gpu1/pcie'), ('gpu-r11-n04', 'pcie-switch-1/port-1')) or node in ('gpu-r11-n04') or (file = 'counters.csv' and line between 9036 and 9036) or (file = 'counters.csv' and line between 9630 and 9630) or (file = 'counters.csv' and line between 18662 and 18662) or (file = 'counters.csv' and line between 19168 and 19168) or (file = 'counters.csv' and line between 9037 and 9037) or (file = 'counters.csv' and line between 9631 and 9631) or (file = 'counters.csv' and line between 18663 and 18663) or (file = 'counters.csv' and line between 19169 and 19169) or (file = 'collectives.csv' and line between 1301 and 1301) or (file = 'collectives.csv' and line between 2574 and 2574) or (file = 'collectives.csv' and line between 3569 and 3569) or (file = 'collectives.csv' and line between 4120 and 4120))
order by "drop", "entry", "file", "file_sha256", "line", "last_line", "kind", "code", "node", "interface", "lane", "ts", "time_text", "seconds", "role", "severity", "count", "reason", "text", "details"
limit 150000;

-- collective_timings: 2437 rows, all that match (bound 150000)
select "drop", "entry", "file", "file_sha256", "line", "run", "run_nodes", "communicator", "seq", "op", "bytes", "ranks", "rank", "node", "gpu", "ts", "duration_us", "arrival_us", "baseline_us", "busbw_gbs", "model", "variant", "unit_kind"
from collective_timings
where "drop" = 'pcie-replay-storm' and (run in ('llama31-70b-1804') or (file = 'counters.csv' and line between 9036 and 9036) or (file = 'counters.csv' and line between 9630 and 9630) or (file = 'counters.csv' and line between 18662 and 18662) or (file = 'counters.csv' and line between 19168 and 19168) or (file = 'counters.csv' and line between 9037 and 9037) or (file = 'counters.csv' and line between 9631 and 9631) or (file = 'counters.csv' and line between 18663 and 18663) or (file = 'counters.csv' and line between 19169 and 19169) or (file = 'collectives.csv' and line between 1301 and 1301) or (file = 'collectives.csv' and line between 2574 and 2574) or (file = 'collectives.csv' and line between 3569 and 3569) or (file = 'collectives.csv' and line between 4120 and 4120))
order by "drop", "entry", "file", "file_sha256", "line", "run", "run_nodes", "communicator", "seq", "op", "bytes", "ranks", "rank", "node", "gpu", "ts", "duration_us", "arrival_us", "baseline_us", "busbw_gbs", "model", "variant", "unit_kind"
limit 150000;

"""SQL of one link: its places, peaks, bit counters, missing counters and coincidence with slow runs.

Names of components are parameters. Ends are (node, interface) pairs joined by chr(0), because that
character stands in no name; the caller gives every spelling of an interface.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

PLACES_SQL = """
select kind, attributes from fabric_topology
where kind = 'site' or (kind in ('node', 'switch') and node in (select unnest($owners)))
    or (kind = 'link' and (list_contains($ends, node || chr(0) || interface) or list_contains($ends, far_node || chr(0) || far_interface)))
order by entry
"""

# The rate of the worst interval with enough events to mean anything.
PEAKS_SQL = f"""
select counter, lane, max(rate_per_hour) from spike_detections
where list_contains($ends, node || chr(0) || interface) and events >= {SpikeLimits().min_events} group by counter, lane
"""

# Counters of wrong bits by end; per lane only where the link itself has no such counter.
BITS_SQL = """
with series as (
    select node || chr(0) || interface as link_end, counter, lane, gpu_uuid, any_value(error_class) as error_class, any_value(class_basis) as basis,
        count(delta) as steps, sum(delta) as grown, arg_max(value, sample) filter (value is not null) as last_value
    from link_counters where list_contains($ends, node || chr(0) || interface) and error_class in ('corrected_single', 'corrected_multi')
        and scope in ('link', 'lane') and kind <> 'gauge'
    group by link_end, counter, lane, gpu_uuid
), valued as (
    select *, case when steps > 0 then grown when max(steps) over (partition by link_end, counter) = 0 then last_value end as events,
        lane is null or count(*) filter (lane is null) over (partition by link_end, counter) = 0 as is_counted
    from series
)
select link_end, counter, any_value(error_class), any_value(basis), sum(events) filter (is_counted) from valued
group by link_end, counter having sum(events) filter (is_counted) is not null
"""

# Counters that like link ends have and this one has not.
MISSING_SQL = """
select counter from link_counters where node = $node and interface in (select unnest($near)) and value is not null and kind <> 'gauge'
except
select counter from link_counters where node = $node and interface in (select unnest($own))
"""

MOVED_SQL = """
select 8 * sum(delta) from link_counters where list_contains($ends, node || chr(0) || interface) and counter = 'rx_bytes' and delta > 0
"""

COINCIDENCE_SQL = """
select * from straggler_correlations where list_contains($ends, node || chr(0) || interface)
order by verdict = 'responsible' desc, overlap_bins > 0 desc, score desc, run limit 12
"""

INCIDENTS_SQL = """
select incident_id, record from incident_records where incident_id in (select unnest($ids))
order by list_position(['CRITICAL', 'WARNING', 'WATCH', 'INFO'], severity), role <> 'cause', confidence desc, incident_id
"""

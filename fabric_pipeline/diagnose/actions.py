"""What a person should do about a fault: action codes with their texts, one table for all outputs.

Advice only: nothing here or elsewhere in the pipeline acts on hardware.
"""

from __future__ import annotations

ACTIONS: dict[str, str] = {
    "none": "No action",
    "monitor": "Keep watching: compare with the next drop, no repair yet",
    "reseat_cable_or_replace_mezzanine": "Reseat the link's cable or connector, replace the mezzanine part if errors return",
    "clean_and_reseat_cable_then_replace": "Clean and reseat the cable at both ends, then replace cable or transceivers if errors return",
    "reseat_card_or_riser": "Reseat the card, then check riser, retimer and slot hop by hop",
    "inspect_gpu_and_slot": "Take the GPU out of the job, collect the vendor's bug report, run the field diagnostic",
    "inspect_link_at_next_window": "Inspect the link at the next maintenance window: errors without effect on jobs so far",
    "inspect_shared_component": "Inspect the part that the affected links share before any single cable",
    "restore_width_or_speed": "Reseat the link so that it trains to its full width and speed, then replace the part that prevents it",
    "check_compute_and_host": "Look at compute, throttling and host of the late rank: no link is to blame",
    "check_congestion": "Look at routing, load and congestion control: no cable is to blame",
    "collect_missing_telemetry": "Collect the telemetry that is missing before judging",
}


def action_for(fault_type: str, link_type: str, is_link: bool, severity: str) -> str:
    """Action code for a fault. `link_type` is nvlink, pcie, infiniband, roce, ethernet or ""."""
    if fault_type == "nominal":
        return "none"
    if fault_type == "no_data":
        return "collect_missing_telemetry"
    if fault_type == "congestion":
        return "check_congestion"
    if not is_link or fault_type == "not_a_link":
        return "check_compute_and_host"
    if severity in ("INFO", "WATCH"):
        return "monitor"
    if fault_type == "shared_component":
        return "inspect_shared_component"
    if fault_type == "width_or_speed_downgrade":
        return "restore_width_or_speed"
    return _by_link_type(link_type)


def mezzanine_text(gpu_src: object, gpu_dst: object) -> str:
    """Repair text for an NVLink between two GPUs of one node."""
    return f"Reseat high-speed mezzanine interconnect or replace interposer ribbon cable on slot {gpu_src}-{gpu_dst}"


def _by_link_type(link_type: str) -> str:
    return {
        "infiniband": "clean_and_reseat_cable_then_replace",
        "roce": "clean_and_reseat_cable_then_replace",
        "ethernet": "clean_and_reseat_cable_then_replace",
        "pcie": "reseat_card_or_riser",
        "nvlink": "reseat_cable_or_replace_mezzanine",
    }.get(link_type, "reseat_cable_or_replace_mezzanine")

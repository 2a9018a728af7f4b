"""The two reference shapes: one node's snapshot in, the agreed answer out.

Shape A has one interface with a CRC count and two latencies; shape B a list of GPU-to-GPU errors and
two step times. Both are views of one verdict (`snapshot_verdict`); nothing is keyed to a case.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from fabric_pipeline.diagnose.actions import action_for, mezzanine_text
from fabric_pipeline.diagnose.snapshot_verdict import SnapshotVerdict, snapshot_verdict
from fabric_pipeline.errors import BadInputError
from fabric_pipeline.model.components import component_id, link_type_of

MONITOR_TEXT = "Maintain routine monitoring; error rate within allowable transient threshold"
_MAX_EXPONENT = 20  # powers of ten; 64-bit counters and microseconds of years lie inside
_HINT = "see docs/reference_cases.md for the two shapes"


def diagnose_case(case: Any) -> dict[str, Any]:
    """The answer to one reference-shaped case.

    Numbers may be JSON numbers or Decimals (exact). Raises BadInputError naming the field.
    """
    if not isinstance(case, dict):
        raise BadInputError("a case must be one JSON object", _HINT)
    if "fabric_errors" in case:
        return _answer_links(case)
    if "fabric_interface" in case:
        return _answer_interface(case)
    raise BadInputError("the case has neither fabric_interface nor fabric_errors", _HINT)


def _answer_interface(case: dict[str, Any]) -> dict[str, Any]:
    node, interface = _text(case, "node_id"), _text(case, "fabric_interface")
    totals = [
        n for key in ("crc_error_count", "replay_count") if (n := _count(case, key)) is not None
    ]
    result = snapshot_verdict(
        totals, _positive(case, "allreduce_latency_us"), _positive(case, "baseline_latency_us")
    )
    link_type = link_type_of(interface)
    blamed = result.blames_link
    action = action_for(
        result.fault_type, link_type, blamed or result.errors == "E1", result.severity
    )
    if result.fault_type == "link_errors_without_effect" and blamed:
        action = "inspect_link_at_next_window"
    return {
        "fault_type": result.fault_type,
        "severity": result.severity,
        "isolated_component": component_id(node, interface)
        if blamed or result.errors == "E1"
        else "none",
        "action": action,
    }


def _answer_links(case: dict[str, Any]) -> dict[str, Any]:
    _text(case, "node_id")
    links = case["fabric_errors"]
    if not isinstance(links, list):
        raise BadInputError("fabric_errors must be a list", _HINT)
    step, baseline = _positive(case, "step_time_ms"), _positive(case, "baseline_step_time_ms")
    judged = [
        (link, snapshot_verdict(_totals(link, n), step, baseline)) for n, link in enumerate(links)
    ]
    bad = sorted(
        (pair for pair in judged if pair[1].blames_link),
        key=lambda pair: _badness(pair[0]),
        reverse=True,
    )
    if not bad:
        return _no_link(judged, snapshot_verdict([], step, baseline))
    link, worst = bad[0]
    answer = {
        "fault_detected": True,
        "isolated_component": _link_name(link),
        "degradation_pct": worst.degradation_pct,
        "repair_action": mezzanine_text(_gpu(link, "gpu_src"), _gpu(link, "gpu_dst")),
        "ticket_priority": worst.priority,
    }
    if len(bad) > 1:  # several links are bad: the worst is isolated, the others must not get lost
        answer["also_faulty"] = [_link_name(other) for other, _ in bad[1:]]
    return answer


def _no_link(
    judged: list[tuple[dict[str, Any], SnapshotVerdict]], without_links: SnapshotVerdict
) -> dict[str, Any]:
    result = max(
        (v for _, v in judged),
        key=lambda v: ("E0", "unknown", "E1").index(v.errors),  # unknown is not healthy
        default=without_links,
    )
    texts = {
        "nominal": MONITOR_TEXT,
        "not_a_link": "Check compute, throttling and host: the step is slow while link errors are within the transient threshold",
        "link_errors_without_effect": "Keep watching the link: errors above the transient threshold, no effect on the step time",
        "no_data": "Collect the missing counters and timing before judging",
    }
    return {
        "fault_detected": False,
        "isolated_component": "None",
        "degradation_pct": result.degradation_pct,
        "repair_action": texts[result.fault_type],
        "ticket_priority": result.priority,
    }


def _totals(link: Any, position: int) -> list[int]:
    if not isinstance(link, dict):
        raise BadInputError(f"fabric_errors[{position}] must be an object", _HINT)
    where = f"fabric_errors[{position}]."
    return [
        n for key in ("crc_errors", "replay_count") if (n := _count(link, key, where)) is not None
    ]


def _gpu(link: dict[str, Any], key: str) -> str:
    index = _count(link, key, "fabric_errors: ")
    return "?" if index is None else str(index)


def _badness(link: dict[str, Any]) -> tuple[int, int]:
    return (_count(link, "crc_errors") or 0, _count(link, "replay_count") or 0)


def _link_name(link: dict[str, Any]) -> str:
    link_id = link.get("link_id")
    if link_id is None:
        link_id = "link unknown"
    elif not isinstance(link_id, str) or not link_id.strip():
        raise BadInputError(f"fabric_errors: link_id is {link_id!r}, not a name", _HINT)
    name = f"NVLink {link_id.removeprefix('nvlink-')}" if link_id.startswith("nvlink-") else link_id
    return f"GPU {_gpu(link, 'gpu_src')} -> GPU {_gpu(link, 'gpu_dst')} {name}"


def _text(case: dict[str, Any], key: str) -> str:
    value = case.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadInputError(f"{key} is missing or no text", _HINT)
    return value


def _count(case: dict[str, Any], key: str, where: str = "") -> int | None:
    value = _number(case, key, where)
    if value is None:
        return None
    if value < 0 or value != value.to_integral_value():
        raise BadInputError(
            f"{where}{key} is {value}, a count must be a whole number from 0", _HINT
        )
    return int(value)


def _positive(case: dict[str, Any], key: str) -> Decimal | None:
    value = _number(case, key)
    if value is not None and value <= 0:
        raise BadInputError(f"{key} is {value}, a duration must be above 0", _HINT)
    return value


def _number(case: dict[str, Any], key: str, where: str = "") -> Decimal | None:
    value = case.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise BadInputError(f"{where}{key} is {value!r}, not a number", _HINT)
    number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise BadInputError(f"{where}{key} is {value!r}, not a finite number", _HINT)
    if abs(number.adjusted()) > _MAX_EXPONENT:
        raise BadInputError(f"{where}{key} is {number:.3e}, no count or duration", _HINT)
    return number

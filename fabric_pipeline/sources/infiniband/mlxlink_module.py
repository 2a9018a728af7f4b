"""What `mlxlink -m` and `--show_histogram` print of the module and the error correction.

A measured value stands beside the module's own limits (`58 [-10..80]`); alarms are flags by lane. Both
become notes that accuse nothing, because a dark or dirty fibre, the far end and the module look alike.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.infiniband.ports import PortRef

Fields = dict[str, tuple[int | None, str]]

# With the module's own alarm limits in brackets behind the values; firmware prints [0..0] for none.
_MEASURED = (
    "temperature [c]",
    "voltage [mv]",
    "bias current [ma]",
    "rx power current [dbm]",
    "tx power current [dbm]",
)
_ALARMS = (
    "module fw fault",
    "datapath fw fault",
    "tx fault [per lane]",
    "tx los [per lane]",
    "rx los [per lane]",
    "tx cdr lol [per lane]",
    "rx cdr lol [per lane]",
    "tx adaptive eq fault [per lane]",
)
_LIMITS = re.compile(
    r"^(?P<values>[-+0-9.,\s]{1,200}?)\s*\[(?P<low>-?[0-9.]{1,12})\.\.(?P<high>-?[0-9.]{1,12})\]$"
)
_BIN = re.compile(
    r"^\[(?P<low>[0-9]{1,2}):(?P<high>[0-9]{1,2})\][\s,]{1,40}(?P<count>[0-9]{1,20})$"
)
_LAST_BIN = 15


def emit_fec_bins(fields: Fields, port: PortRef, result: ReadResult) -> None:
    """Code words by the number of repaired symbols; a bin of several numbers stays uninterpreted."""
    for number in range(_LAST_BIN + 1):
        name = f"bin {number}"
        line, text = fields.get(name, (None, ""))
        found = _BIN.match(text)
        if not found:
            continue
        symbols = int(found["low"])
        is_one = symbols == int(found["high"]) and symbols <= _LAST_BIN
        counter = f"fec_bin_{symbols}" if is_one else ""
        result.readings.append(
            port.reading(line, f"FEC {name}", text, counter=counter, value=float(found["count"]))
        )


def emit_module(fields: Fields, port: PortRef, result: ReadResult) -> None:
    """One event for each value outside the module's limits and for each raised alarm."""
    for name in _MEASURED:
        line, text = fields.get(name, (None, ""))
        if outside := _outside(text):
            _note("module_out_of_range", f"{name}: {text}", outside, line, port, result)
    for name in _ALARMS:
        line, text = fields.get(name, (None, ""))
        lanes = [str(lane) for lane, flag in enumerate(text.split(",")) if flag.strip() == "1"]
        if lanes:
            place = f" on lane {', '.join(lanes)}" if "[per lane]" in name else ""
            says = f"the module raises {name.removesuffix(' [per lane]')}{place}"
            _note("module_alarm", f"{name}: {text}", says, line, port, result)


def _outside(text: str) -> str:
    found = _LIMITS.match(text)
    if not found:
        return ""
    try:
        low, high = float(found["low"]), float(found["high"])
        values = [float(part) for part in found["values"].split(",") if part.strip()]
    except ValueError:
        return ""
    if high <= low:
        return ""
    beyond = [
        f"{value:g} on lane {lane}" if len(values) > 1 else f"{value:g}"
        for lane, value in enumerate(values)
        if not low <= value <= high
    ]
    return f"{', '.join(beyond)} outside {low:g} to {high:g}" if beyond else ""


def _note(
    kind: str, text: str, says: str, line: int | None, port: PortRef, result: ReadResult
) -> None:
    event = FabricEvent(line or 1, kind, text, port.node, port.interface)
    event.severity = "watch"
    event.reason = f"{text.partition(':')[0]}: {says}" if kind == "module_out_of_range" else says
    result.events.append(event)

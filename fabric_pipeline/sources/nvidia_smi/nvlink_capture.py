"""Puts the rows of `nvidia-smi nvlink -s/-e/-ec/-R/-p/-c` together GPU by GPU.

All four nvlink readers use this, because saved terminals mix these commands; a reader only says
which mixture is its format. What is missing from a listing is told by `nvlink_gaps`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from fabric_pipeline.model.components import component_id, normalise_pci
from fabric_pipeline.model.records import (
    MAX_TEXT,
    FabricEvent,
    Reading,
    RejectedLine,
    UnknownFact,
)
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi import nvlink_rows as rows
from fabric_pipeline.sources.nvidia_smi.captures import (
    CapturedLine,
    captured_lines,
    squeezed,
)
from fabric_pipeline.sources.nvidia_smi.counter_names import (
    CLASSIC,
    TOTAL_RECOVERIES,
    canonical_counter,
    merged_counters,
    split_lane,
)
from fabric_pipeline.sources.nvidia_smi.nvlink_blocks import GpuBlock, NvlinkCapture
from fabric_pipeline.sources.nvidia_smi.nvlink_rows import NvlinkRow
from fabric_pipeline.sources.nvidia_smi.values import (
    in_units,
    is_not_measured,
    judge_number,
    kind_of,
    state_words,
)

BITS_PER_BYTE = 8
_STATE = "NVLink state"
_LOST_REASON = "nvidia-smi says that it cannot reach this GPU any more"


def read_capture(file: SourceFile, *, head_only: bool = False) -> NvlinkCapture:
    """Read every nvlink row of the file; `head_only` looks at the first 256 KiB for detection."""
    builder = _Builder()
    for line in captured_lines(file, head_only=head_only):
        builder.feed(line)
    builder.promote_totals()
    return builder.capture


class _Builder:
    def __init__(self) -> None:
        self.capture = NvlinkCapture()
        self.current: dict[str, GpuBlock] = {}
        self.heading: tuple[int, ...] = ()

    def feed(self, captured: CapturedLine) -> None:
        line = replace(captured, text=squeezed(captured.text))
        if not line.text or self._header(line) or self._ellipsis(line):
            return
        if self._sentence(line) or self._lane(line):
            return
        row = rows.parse_row(line.text)
        if isinstance(row, NvlinkRow):
            self._row(line, row)
        elif row is not None:
            self._reject(line, row)
        elif line.node in self.current and rows.ROW_REMAINS.search(line.text):
            self._reject(line, "the row has lost its beginning, so its link is not known")

    def promote_totals(self) -> None:
        """Count `Total link recovery events` as recoveries only where no parts are listed."""
        readings = self.capture.result.readings
        known = {(r.node, r.interface) for r in readings if r.counter == "recovery"}
        for reading in self.capture.totals:
            if (reading.node, reading.interface) not in known:
                reading.counter = "recovery"

    def _reject(self, line: CapturedLine, rule: str) -> None:
        rejected = RejectedLine(line.number, line.text[:MAX_TEXT], rule)
        self.capture.result.rejected.append(rejected)

    # --- which GPU ---------------------------------------------------------------------------

    def _header(self, line: CapturedLine) -> bool:
        found = rows.GPU_HEADER.match(line.text)
        if not found:
            return False
        name, _, tail = found["rest"].partition("(UUID")
        uuid = rows.UUID.search(tail)
        block = self._open(line, int(found["gpu"]))
        block.name = name.strip()[:120]
        block.uuid = uuid[0] if uuid else ""
        return True

    def _open(self, line: CapturedLine, gpu: int | None) -> GpuBlock:
        block = GpuBlock(line.node, gpu, line.capture, line.gpu_hint, time=line.time)
        self.capture.blocks.append(block)
        self.current[line.node] = block
        self.heading = ()
        return block

    def _block(self, line: CapturedLine) -> GpuBlock:
        """The GPU a row belongs to: the last header, else the one a banner or `-i` names."""
        block = self.current.get(line.node)
        if block is None or block.hint != line.gpu_hint:
            return self._open(line, line.gpu_hint)
        if block.capture != line.capture and line.command:
            return self._open(line, line.gpu_hint)
        return block

    def _ellipsis(self, line: CapturedLine) -> bool:
        if not rows.ELLIPSIS.match(line.text):
            return False
        block = self.current.get(line.node)
        if block is not None and block.seen:
            block.gap_after.append(max(block.seen))
        self.capture.ellipses.append((block, line.number))
        return True

    # --- sentences in place of rows ----------------------------------------------------------

    def _sentence(self, line: CapturedLine) -> bool:
        text = line.text[:200]
        if rows.ALL_INACTIVE.search(text):
            self._all_inactive(line, text)
        elif rows.NO_NVLINK.search(text) or self._bare_refusal(line, text):
            self._no_nvlink(line, text)
        elif rows.COMPLAINT.match(text):
            self._complaint(line, text)
        else:
            return False
        self.capture.kinds["sentence"] += 1
        return True

    def _bare_refusal(self, line: CapturedLine, text: str) -> bool:
        block = self.current.get(line.node)
        return bool(rows.BARE_REFUSAL.match(text)) and block is not None and not block.seen

    def _all_inactive(self, line: CapturedLine, text: str) -> None:
        """One sentence stands for all rows: every link of the GPU is down (samples trap 29)."""
        block = self._block(line)
        block.answered = True
        reading = self._reading(line, block, None, _STATE, text, "link_up")
        self._keep(replace(reading, value=0.0, state=state_words(text, block.name)))

    def _no_nvlink(self, line: CapturedLine, text: str) -> None:
        block = self._block(line)
        block.answered = True
        reading = self._reading(line, block, None, _STATE, text, "link_up")
        self._keep(replace(reading, quality="not_supported"))
        self._unknown(block.node, block.interface, f"the tool says {text!r}")

    def _complaint(self, line: CapturedLine, text: str) -> None:
        """An error message: it speaks of the GPU it names, else of the header without rows."""
        named = rows.NAMED_PCI.search(text)
        block = self.current.get(line.node)
        interface = ""
        if named:
            interface = f"pci-{normalise_pci(named[1])}"
        elif block is not None and not block.seen and not block.answered:
            block.answered = True
            interface = block.interface
        elif line.gpu_hint is not None:
            interface = f"gpu{line.gpu_hint}"
        if rows.LOST.search(text):
            self._lost(line, text, interface)
        self._unknown(line.node, interface, f"the tool could not tell: {text}")

    def _lost(self, line: CapturedLine, text: str, interface: str) -> None:
        certain = "determine the device handle" not in text or "lost" in text.lower()
        event = FabricEvent(line.number, "gpu_lost", text, line.node, interface)
        event.role, event.severity = "cause", "critical" if certain else "warning"
        event.reason, event.time = _LOST_REASON, line.time
        self.capture.result.events.append(event)

    def _unknown(self, node: str, interface: str, reason: str) -> None:
        fact = UnknownFact(node, interface, "NVLink state and counters", reason)
        self.capture.result.unknown.append(fact)

    # --- rows --------------------------------------------------------------------------------

    def _lane(self, line: CapturedLine) -> bool:
        found = rows.LANE_ROW.match(line.text)
        block = self.current.get(line.node)
        if not found or block is None or not self.heading:
            return False
        words, mark, value = found["rest"].rpartition(":")
        name = f"{words.strip() if mark else 'CRC Errors'} Lane {found['lane']}"
        self._counter(line, block, NvlinkRow(self.heading, "counter", name, value.strip()))
        return True

    def _row(self, line: CapturedLine, row: NvlinkRow) -> None:
        block = self._block(line)
        self.capture.kinds[row.kind] += 1
        self.heading = row.links if row.kind == "heading" else ()
        for link in row.links:
            block.seen.setdefault(link, []).append(row.name or row.kind)
        match row.kind:
            case "speed" | "state":
                self._status(line, block, row)
            case "counter":
                self._counter(line, block, row)
            case "clean":
                for words in CLASSIC:
                    self._numbers(line, block, row, words, 0.0)
            case "capability":
                self.capture.flags.setdefault(row.name, Counter())[row.value.lower()] += 1
            case "remote":
                self._remote(block, row)

    def _status(self, line: CapturedLine, block: GpuBlock, row: NvlinkRow) -> None:
        text = row.name or row.value
        for link in row.links:
            reading = self._reading(line, block, link, _STATE, text, "link_up")
            if row.kind == "speed":
                self._keep(replace(reading, value=1.0, state=state_words("active", block.name)))
                speed = self._reading(line, block, link, "NVLink speed", text, "speed_gbps")
                self._keep(replace(speed, value=float(row.value) * BITS_PER_BYTE))
            elif is_not_measured(row.value):
                self._keep(replace(reading, quality="not_supported"))
            else:
                up = 1.0 if row.is_up else 0.0
                self._keep(replace(reading, value=up, state=state_words(row.value, block.name)))

    def _counter(self, line: CapturedLine, block: GpuBlock, row: NvlinkRow) -> None:
        number = in_units(row.value)
        if number is None and not is_not_measured(row.value):
            self._reject(line, f"{row.value[:60]!r} is no count")
            return
        for words in merged_counters(row.name):
            self._numbers(line, block, row, words, number)

    def _numbers(
        self, line: CapturedLine, block: GpuBlock, row: NvlinkRow, words: str, number: float | None
    ) -> None:
        plain, lane = split_lane(words)
        counter = canonical_counter(plain or "CRC Errors")
        is_total = counter == TOTAL_RECOVERIES
        if is_total or (counter == "raw_ber" and number is not None and number >= 1):
            counter = ""  # a raw BER of 1 and more is a packed register value, not a rate
        value, quality = (
            (None, "not_supported") if number is None else judge_number(counter, number)
        )
        for link in row.links:
            reading = self._reading(line, block, link, words, row.value, counter)
            reading = replace(reading, value=value, quality=quality, lane=lane)
            if lane is not None:
                reading.scope = "lane"
            self._keep(reading)
            if is_total:
                self.capture.totals.append(reading)

    def _reading(
        self,
        line: CapturedLine,
        block: GpuBlock,
        link: int | None,
        words: str,
        text: str,
        name: str,
    ) -> Reading:
        """A reading of counter `name` without its value yet."""
        return Reading(
            line=line.number,
            counter_text=words,
            value_text=text[:200],
            entity_text=block.entity if link is None else f"{block.entity}, Link {link}",
            node=block.node,
            interface=block.link(link),
            link_type="nvlink",
            counter=name,
            kind=kind_of(name),
            scope="gpu_sum" if link is None else "link",
            time=line.time,
            gpu_uuid=block.uuid,
        )

    def _keep(self, reading: Reading) -> None:
        self.capture.result.readings.append(reading)

    def _remote(self, block: GpuBlock, row: NvlinkRow) -> None:
        """Far ends are named by PCI address: the listing does not say whether GPU or NVSwitch."""
        far = f"pci-{normalise_pci(row.value)}"
        far = f"{far}/nvlink-{row.name}" if row.name else far
        for link in row.links:
            near = block.link(link)
            self.capture.links.append(
                {
                    "id": f"{component_id(block.node, near)}--{component_id(block.node, far)}",
                    "type": "nvlink",
                    "a": {"node": block.node, "port": near},
                    "b": {"node": block.node, "port": far},
                }
            )

"""What an nvlink listing leaves out: GPUs and links that an ellipsis, a cut or silence hides.

Such things are neither up nor down; they become unknown facts that name the GPU.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.sources.nvidia_smi.nvlink_blocks import GpuBlock, NvlinkCapture

MAX_FACTS = 200  # a listing with more holes than this is described by its first ones
MAX_GPUS = 64  # GPU numbers looked at in one listing; no node has more


def unknown_parts(capture: NvlinkCapture) -> list[UnknownFact]:
    """Unknown facts for every hole of the listings in a file."""
    listings: dict[tuple[str, int], list[GpuBlock]] = defaultdict(list)
    for block in capture.blocks:
        listings[block.node, block.capture].append(block)
    facts: list[UnknownFact] = []
    for blocks in listings.values():
        facts.extend(_missing_gpus(blocks))
        models = _models(blocks)
        for block in blocks:
            if block.seen and len(facts) < MAX_FACTS:
                facts.extend(_missing_links(block, models[block.name]))
        facts.extend(_cut_link(blocks))
    facts.extend(_named_only(capture.blocks))
    facts.extend(_open_end(capture))
    return facts[:MAX_FACTS]


def _missing_gpus(blocks: list[GpuBlock]) -> Iterator[UnknownFact]:
    told = [b.gpu for b in blocks if b.gpu is not None and (b.seen or b.answered)]
    if len(told) < 2 or told != sorted(told):
        return
    for gpu in range(told[0], min(told[-1], told[0] + MAX_GPUS)):
        if gpu not in told:
            reason = f"the listing passes over GPU {gpu} without a row for it"
            yield UnknownFact(blocks[0].node, f"gpu{gpu}", f"NVLinks of GPU {gpu}", reason)


@dataclass(slots=True)
class _Model:
    """All GPUs of one name in a listing: how many there are, and the links that any of them lists."""

    blocks: int = 0
    links: set[int] = field(default_factory=set)


def _models(blocks: list[GpuBlock]) -> dict[str, _Model]:
    """Gathered once: a loop of a night prints thousands of blocks."""
    models: dict[str, _Model] = defaultdict(_Model)
    for block in blocks:
        if block.seen:
            models[block.name].blocks += 1
            models[block.name].links.update(block.seen)
    return models


def _missing_links(block: GpuBlock, model: _Model) -> Iterator[UnknownFact]:
    """Links between the listed ones, and those that GPUs of the same model list beyond the last."""
    own = set(block.seen)
    missing = sorted((model.links | set(range(max(own)))) - own)
    if not missing and (model.blocks > 1 or not block.gap_after):
        return
    what = f"NVLink {_ranges(missing)}" if missing else "further NVLinks"
    last = max(own)
    if missing and missing[0] > last:
        how = f"the listing of {block.label} ends after link {last}"
    elif block.gap_after:
        how = f"the listing of {block.label} is interrupted after link {block.gap_after[0]}"
    else:
        how = f"the listing of {block.label} has no row for them"
    reason = f"{how}; nothing is known of them"
    yield UnknownFact(block.node, block.interface, f"{what} of {block.label}", reason)


def _cut_link(blocks: list[GpuBlock]) -> Iterator[UnknownFact]:
    """A last link with fewer counters than the first one was cut in the middle."""
    block = blocks[-1]
    if len(block.seen) < 2:
        return
    first, last = next(iter(block.seen)), next(reversed(block.seen))
    absent = [name for name in block.seen[first] if name not in block.seen[last]]
    merged = any("/" in name or name == "clean" for name in block.seen[last])
    if absent and not merged and len(block.seen[first]) > len(block.seen[last]):
        what = f"{', '.join(absent[:6])} of {block.label} link {last}"
        yield UnknownFact(block.node, block.link(last), what, "the listing ends before these rows")


def _named_only(blocks: list[GpuBlock]) -> Iterator[UnknownFact]:
    listed = {(b.node, b.gpu) for b in blocks if b.seen or b.answered}
    if not listed:
        return
    silent = {(b.node, b.gpu): b for b in blocks if (b.node, b.gpu) not in listed}
    for block in silent.values():
        reason = f"{block.label} is named without any row of its links"
        yield UnknownFact(block.node, block.interface, f"NVLinks of {block.label}", reason)


def _open_end(capture: NvlinkCapture) -> Iterable[UnknownFact]:
    if not capture.blocks:
        return []
    for block, line in capture.ellipses:
        if block is not capture.blocks[-1] or not block.seen:
            continue
        if block.gap_after[-1:] == [max(block.seen)]:
            what = f"what followed {block.label} in the listing"
            reason = f"an ellipsis in line {line} stands for left-out rows"
            return [UnknownFact(block.node, block.interface, what, reason)]
    return []


def _ranges(numbers: list[int]) -> str:
    """`2-4, 7` from [2, 3, 4, 7]."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)

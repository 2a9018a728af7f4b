"""What the GPU driver's Xid numbers mean, seen alone: subject, role, severity, one plain phrase.

The catalogue does not weigh events against each other; `diagnose.event_roles` does. Sources: NVIDIA's
public Xid catalogue, its NVLink workflow for Xid 74 (register bits) and for Xid 144 to 150.
"""

from __future__ import annotations

from dataclasses import dataclass

LINK_SUBJECTS = frozenset({"nvlink", "pcie", "c2c"})


@dataclass(frozen=True, slots=True)
class XidMeaning:
    """One row. `subject`: nvlink, pcie, c2c, memory, gpu, firmware, application, driver, follow-up.

    `role` and `severity` are those of such an event alone. `is_sympathetic` marks codes that mostly
    follow from another event.
    """

    code: int
    subject: str
    role: str
    severity: str
    says: str
    is_sympathetic: bool = False

    @property
    def is_link(self) -> bool:
        """True when the code speaks of a link between chips and not of one chip's inside."""
        return self.subject in LINK_SUBJECTS


_ROWS = (
    XidMeaning(8, "application", "cause", "warning", "the GPU stopped processing"),
    XidMeaning(11, "application", "cause", "warning", "invalid command stream"),
    XidMeaning(12, "driver", "cause", "warning", "driver error handling a GPU exception"),
    XidMeaning(13, "application", "cause", "warning", "graphics engine exception of a program"),
    XidMeaning(16, "driver", "cause", "warning", "display engine hung"),
    XidMeaning(31, "application", "cause", "warning", "GPU memory page fault of a program"),
    XidMeaning(32, "driver", "cause", "warning", "invalid or corrupted push buffer stream"),
    XidMeaning(38, "driver", "cause", "warning", "driver firmware error"),
    XidMeaning(43, "application", "cause", "warning", "the GPU stopped processing for a program"),
    XidMeaning(44, "gpu", "cause", "warning", "graphics engine fault during a context switch"),
    XidMeaning(45, "follow-up", "symptom", "info", "channels torn down after another error", True),
    XidMeaning(46, "gpu", "cause", "warning", "GPU stopped processing"),
    XidMeaning(48, "memory", "cause", "warning", "double-bit error in GPU memory"),
    XidMeaning(56, "gpu", "cause", "warning", "display engine error"),
    XidMeaning(57, "memory", "cause", "warning", "error in programming the GPU memory interface"),
    XidMeaning(58, "memory", "cause", "warning", "unstable GPU memory interface"),
    XidMeaning(61, "gpu", "cause", "warning", "internal micro-controller breakpoint or warning"),
    XidMeaning(62, "gpu", "cause", "warning", "internal micro-controller halt"),
    XidMeaning(63, "memory", "cause", "warning", "GPU memory row remapped or page retired"),
    XidMeaning(64, "memory", "cause", "warning", "GPU memory row remapping failed"),
    XidMeaning(65, "gpu", "cause", "warning", "video processor exception"),
    XidMeaning(66, "driver", "cause", "warning", "illegal access by the driver"),
    XidMeaning(67, "driver", "cause", "warning", "illegal access by the driver"),
    XidMeaning(68, "application", "cause", "warning", "video processor exception"),
    XidMeaning(69, "application", "cause", "warning", "graphics engine class error"),
    XidMeaning(74, "nvlink", "cause", "critical", "NVLink error"),
    XidMeaning(79, "pcie", "cause", "critical", "the GPU has fallen off the bus"),
    XidMeaning(80, "pcie", "cause", "warning", "corrupted data sent to the GPU"),
    XidMeaning(92, "memory", "cause", "warning", "high rate of single-bit errors in GPU memory"),
    XidMeaning(94, "memory", "cause", "warning", "contained GPU memory error"),
    XidMeaning(95, "memory", "cause", "warning", "uncontained GPU memory error"),
    XidMeaning(109, "gpu", "cause", "warning", "context switch time-out"),
    XidMeaning(110, "gpu", "cause", "warning", "security fault"),
    XidMeaning(
        119, "firmware", "cause", "warning", "the GPU system processor does not answer", True
    ),
    XidMeaning(120, "firmware", "cause", "warning", "the GPU system processor failed", True),
    XidMeaning(121, "c2c", "context", "watch", "corrected error of the chip-to-chip link"),
    XidMeaning(122, "gpu", "cause", "warning", "SPI flash failure"),
    XidMeaning(123, "gpu", "cause", "warning", "power management unit failure"),
    XidMeaning(136, "gpu", "cause", "warning", "link training of the display failed"),
    XidMeaning(137, "nvlink", "context", "watch", "NVLink privilege error", True),
    XidMeaning(140, "memory", "cause", "warning", "unrecovered GPU memory error"),
    XidMeaning(143, "gpu", "cause", "warning", "GPU initialisation failure"),
    XidMeaning(144, "nvlink", "cause", "warning", "NVLink SAW error", True),
    XidMeaning(145, "nvlink", "symptom", "watch", "NVLink RLW error", True),
    XidMeaning(146, "nvlink", "cause", "warning", "NVLink TLW error", True),
    XidMeaning(147, "nvlink", "cause", "warning", "NVLink TREX error", True),
    XidMeaning(148, "nvlink", "cause", "warning", "NVLink NVLPW error", True),
    XidMeaning(149, "nvlink", "cause", "critical", "NVLink NETIR error"),
    XidMeaning(150, "nvlink", "cause", "warning", "NVLink MSE error", True),
    XidMeaning(151, "gpu", "cause", "warning", "key rotation error"),
    XidMeaning(
        154, "follow-up", "context", "watch", "the driver changed its recovery action", True
    ),
    XidMeaning(155, "nvlink", "cause", "warning", "NVLink error defined by software"),
    XidMeaning(156, "memory", "context", "watch", "a GPU resource was retired"),
    XidMeaning(157, "memory", "cause", "warning", "retiring a GPU resource failed"),
    XidMeaning(158, "gpu", "cause", "warning", "fatal GPU time-out"),
    XidMeaning(160, "memory", "cause", "warning", "GPU memory channel retired"),
    XidMeaning(161, "memory", "cause", "warning", "GPU memory channel retirement failed"),
    XidMeaning(167, "pcie", "cause", "warning", "fatal PCIe time-out"),
    XidMeaning(171, "memory", "cause", "warning", "uncorrectable error in GPU DRAM"),
    XidMeaning(172, "memory", "cause", "warning", "uncorrectable error in GPU SRAM"),
)

XIDS: dict[int, XidMeaning] = {row.code: row for row in _ROWS}


def xid_meaning(code: int) -> XidMeaning:
    """The row of a code; an unlisted code is something to watch, never an accusation."""
    return XIDS.get(code) or XidMeaning(code, "unknown", "context", "watch", "unlisted Xid")


# Xid 74 carries seven register words. Bits by (register counted from 1) with what they stand for.
_REGISTER_BITS: tuple[tuple[str, int, tuple[int, ...]], ...] = (
    ("ignored", 1, (0, 23, 30)),
    ("secondary", 1, (1, 20)),
    ("secondary", 4, (16, 17, 18)),
    ("corrected", 5, (20, 23, 26, 29)),
    ("signal_integrity", 1, (21, 22)),
    ("possible_hardware", 1, (8, 9, 12, 16, 17, 24, 28)),
    ("parity", 1, (4, 5)),
    ("parity", 3, (0, 1, 2, 6)),
    ("parity", 5, (18, 19, 21, 22, 24, 25, 27, 28)),
)
_BIT_CLASS = {(reg, bit): name for name, reg, bits in _REGISTER_BITS for bit in bits}
# Worst last; an unlisted bit beside a fatal error is not known to be harmless.
_CLASS_ORDER = (
    "ignored", "secondary", "corrected", "unlisted", "signal_integrity", "possible_hardware", "parity",
)  # fmt: skip


def register_class(words: list[int]) -> tuple[str, list[str]]:
    """The gravest class of the set bits and the bits as `reg1.bit16`; ("", []) when none is set."""
    found: list[str] = []
    classes: set[str] = set()
    for register, word in enumerate(words[:7], 1):
        for bit in range(32):
            if word >> bit & 1:
                found.append(f"reg{register}.bit{bit}")
                classes.add(_BIT_CLASS.get((register, bit), "unlisted"))
    if not classes:
        return "", []
    return max(classes, key=_CLASS_ORDER.index), found

"""GUIDs and node descriptions: which text names a host, an adapter or a switch.

A vendor's default description (`Quantum Mellanox Technologies`) names a product, not a machine, so
the GUID is used in its place. Which port a name belongs to is settled in `ports`.
"""

from __future__ import annotations

import re

_HEX = re.compile(r"^(?:0x)?([0-9a-fA-F]{1,16})$")
_PRODUCT = re.compile(
    r"technologies|aggregation node|\bvoltaire\b|\bsilverstorm\b|\bqlogic\b|"
    r"^(?:mt\d{4,6}|infiniscale\S{0,8}|switchx|switchib|quantum|connectx\S{0,4})(?:-?\d)?(?:\s|$)|"
    r"^localhost\b|^\(none\)|^$",
    re.IGNORECASE,
)
_ADAPTER = re.compile(
    r"^(?:HCA-?\d+|mlx\d+_[\w-]+|hfi\d+_\d+|qib\d+|ib[ps]?\d[\w.-]*|roce[\w.-]+|rocep[\w.-]+|"
    r"irdma\d+|bnxt_re\d+|hns_\d+|efa_\d+|ionic_\d+)$"
)


def normalise_guid(text: str) -> str:
    """`0x` and 16 lower-case digits; "" for zero and for text that is no GUID."""
    found = _HEX.match(text.strip())
    number = int(found.group(1), 16) if found else 0
    return f"0x{number:016x}" if number else ""


def is_product_name(description: str) -> bool:
    """True when a node description names a product or nothing at all, not one machine."""
    return bool(_PRODUCT.search(description.strip()[:128]))


def split_description(description: str) -> tuple[str, str]:
    """Host and adapter of a channel adapter's description: `n07 HCA-4` -> (`n07`, `HCA-4`).

    The adapter is "" when the last word is none; both are "" for product names.
    """
    text = " ".join(description.split())
    if is_product_name(text):
        return "", ""
    host, _, last = text.rpartition(" ")
    if host and _ADAPTER.match(last):
        return host.replace(":", "_"), last
    return text.replace(":", "_"), ""


def is_adapter(word: str) -> bool:
    """True for the name of an HCA such as `mlx5_0` or `HCA-1`."""
    return bool(_ADAPTER.match(word))

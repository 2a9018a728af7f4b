"""One port as a tool names it, and the readings and link ends made from it.

A switch port becomes `<switch name or guid>/port-<P>` without a node; an adapter port becomes
`<hca>/<port>` on its host, or `<guid>/port-<P>` when no host is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.components import Component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading
from fabric_pipeline.sources.infiniband.pma import counter_name, is_saturated
from fabric_pipeline.sources.infiniband.states import joined_state, link_up_value


@dataclass(frozen=True, slots=True)
class PortRef:
    """A port: where it is, what kind of link it speaks, how the file wrote it.

    `entity_text` keeps hardware identity (GUID, PCI path, device type) for whoever compares
    captures; `device` is the switch or host adapter name without the port.
    """

    node: str
    interface: str
    entity_text: str = ""
    link_type: str = "infiniband"
    guid: str = ""
    lid: int | None = None
    is_switch: bool = False
    scope: str = "link"

    @property
    def id(self) -> str:
        """Component id."""
        return Component(self.node, self.interface).id

    def end(self) -> dict[str, Any]:
        """The port as one end of a link in `topology.json`."""
        place = (
            {"switch": self.interface.rpartition("/")[0]} if not self.node else {"node": self.node}
        )
        known: Mapping[str, Any] = {"guid": self.guid, "lid": self.lid}
        return {
            **place,
            "port": self.interface,
            **{key: value for key, value in known.items() if value},
        }

    def reading(
        self, line: int | None, counter_text: str, value_text: str, **fields: Any
    ) -> Reading:
        """A reading of this port; the kind follows from the canonical counter."""
        spec = COUNTERS.get(fields.get("counter", ""))
        fields.setdefault("kind", spec.kind if spec else "gauge")
        return Reading(
            line,
            counter_text,
            value_text,
            entity_text=self.entity_text,
            node=self.node,
            interface=self.interface,
            link_type=self.link_type,
            scope=fields.pop("scope", self.scope),
            **fields,
        )

    def presence(self, line: int | None, logical: str, physical: str, tool: str) -> list[Reading]:
        """The link state, and which hardware stands behind the name as this tool says.

        Quality `not_supported` when neither word is a known state.
        """
        value = link_up_value(logical, physical)
        return self.seen(line, value, joined_state(logical, physical), tool)

    def seen(self, line: int | None, value: float | None, words: str, tool: str) -> list[Reading]:
        """The same from a value and words that are already one."""
        quality = "ok" if value is not None else "not_supported"
        state = self.reading(
            line,
            f"{tool} state",
            words,
            counter="link_up",
            value=value,
            state=words,
            quality=quality,
        )
        identity = f"{tool}: {self.entity_text}"
        return [
            state,
            self.reading(
                line, "port identity", identity, counter="port_identity", value=1.0, state=identity
            ),
        ]

    def level(
        self,
        line: int | None,
        counter: str,
        text: str,
        value: float,
        state: str = "",
        scope: str = "",
    ) -> Reading:
        """A width, speed or error rate."""
        return self.reading(
            line,
            counter,
            text,
            counter=counter,
            value=value,
            state=state,
            scope=scope or self.scope,
        )

    def count(
        self,
        line: int | None,
        counter_text: str,
        value_text: str,
        value: float,
        is_wide: bool = False,
    ) -> Reading:
        """A performance counter under its canonical name, in its canonical unit."""
        name = counter_name(counter_text)
        full = is_saturated(name, value, is_wide)
        return self.reading(
            line,
            counter_text,
            value_text,
            counter=name.counter,
            value=value * name.factor,
            quality="saturated" if full else "ok",
            kind="cumulative",
        )


def switch_port(name: str, port: int | str, guid: str = "", lid: int | None = None) -> PortRef:
    """A port of a switch known by name, GUID or LID."""
    device = name or guid or (f"lid-{lid}" if lid is not None else "")
    return PortRef(
        "",
        f"{device}/port-{port}" if device else f"port-{port}",
        f'{guid or "-"} "{name}" port {port}',
        guid=guid,
        lid=lid,
        is_switch=True,
    )


def adapter_port(
    host: str, adapter: str, port: int | str, guid: str = "", lid: int | None = None
) -> PortRef:
    """A port of a channel adapter; without a host name its GUID names it."""
    entity = f'{guid or "-"} "{host} {adapter}" port {port}'
    if not host:
        return PortRef("", f"{guid or f'lid-{lid}'}/port-{port}", entity, guid=guid, lid=lid)
    interface = f"{adapter}/{port}" if adapter else f"port-{port}"
    return PortRef(host, interface, entity, guid=guid, lid=lid)

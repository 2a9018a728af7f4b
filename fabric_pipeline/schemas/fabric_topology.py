"""Table fabric_topology: nodes, devices, ports and links, one row an entity."""

from fabric_pipeline.schemas.table import (
    DROP,
    ENTRY,
    FILE,
    FILE_SHA256,
    LINK_TYPE,
    Table,
    number,
    text,
    whole,
)

TABLE = Table(
    name="fabric_topology",
    group="ingest",
    grain="one node, device, switch or link",
    description="What is where and which two ends each link has, as the drop's topology sources state it.",
    key=("drop", "entry"),
    columns=(
        DROP,
        ENTRY,
        FILE,
        FILE_SHA256,
        text(
            "kind",
            "Entity kind",
            allowed=("site", "node", "gpu", "nic", "nvswitch", "pcie_switch", "switch", "link"),
        ),
        text("entity_id", "Component id of the entity, or id of the link", pattern=r"\S"),
        text("node", "Host or switch it belongs to, or of the near end"),
        text("interface", "Device or near link end in the component grammar"),
        text("far_node", "Host or switch of the far end"),
        text("far_interface", "Far link end in the component grammar"),
        text("row", "Row in the hall"),
        text("rack", "Rack"),
        text("unit", "Rack unit"),
        whole("socket", "CPU socket", nullable=True),
        whole("gpu", "GPU index", nullable=True),
        text("serial", "Serial number"),
        LINK_TYPE,
        whole("lanes", "Lanes of the link", nullable=True),
        number("speed_gbps", "Nominal speed in Gb/s", nullable=True),
        text("cable_id", "Cable label"),
        text("part", "Part reference into the catalogue"),
        text("attributes", "The entity as the source states it, JSON"),
    ),
)

"""The one partition set: a drop is the unit of rerun. Keys are registered by launcher and sensor."""

import dagster as dg

drops = dg.DynamicPartitionsDefinition(name="drops")

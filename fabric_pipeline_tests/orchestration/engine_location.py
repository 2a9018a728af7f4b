"""A code location for tests: a job with the real resource that says where its shards were worked on."""

import dagster as dg

from fabric_pipeline.engine.choose import open_engine
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline_tests.engine.shards import Shard, add_up


@dg.op
def work_on_shards(context: dg.OpExecutionContext, fabric: FabricResource) -> None:
    """Two shards on the engine of the run, told in the event of a materialisation."""
    with open_engine(fabric.settings()) as engine:
        done = engine.map(add_up, [Shard(1), Shard(2)])
    said = {
        "engine": engine.name,
        "totals": str([one.result.total if one.result else one.problem for one in done]),
        "worker": done[0].worker,
    }
    context.log_event(dg.AssetMaterialization("shards", metadata=said))


@dg.job
def shards_job() -> None:
    """The one op."""
    work_on_shards()


defs = dg.Definitions(jobs=[shards_job], resources={"fabric": FabricResource()})

"""Which engine a run uses: named in `dagster.yaml` for runs of the daemon and the UI, else by who started it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pytest
import yaml
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import PythonFileTarget

from fabric_pipeline.orchestration.engine_launcher import ShardEngineRunLauncher
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline_tests.engine.clusters import cluster_in_this_process
from fabric_pipeline_tests.engine.shards import Shard, add_up
from fabric_pipeline_tests.orchestration import engine_location
from fabric_pipeline_tests.pipeline_runs import ROOT

CLUSTER = {"engine": "dask", "address": "tcp://127.0.0.1:8786"}


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance made from the shipped `dagster.yaml`, with a Dask cluster of this test in it."""
    config = yaml.safe_load((ROOT / "dagster.yaml").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with cluster_in_this_process() as cluster:
        place = {"engine": "dask", "address": cluster.scheduler_address}
        config["run_launcher"]["config"] = place
        (tmp_path / "dagster.yaml").write_text(yaml.safe_dump(config))
        with dg.DagsterInstance.get() as made:
            yield made


def resource_beside(config: dict[str, Any], **fields: Any) -> FabricResource:
    """The resource as a run has it where the launcher was given this config."""
    launcher = ShardEngineRunLauncher.from_config_value(cast(Any, None), config)
    resource = FabricResource(**fields)
    context = SimpleNamespace(instance=SimpleNamespace(run_launcher=launcher), run=None)
    resource.setup_for_execution(cast(Any, context))
    return resource


def test_a_run_that_was_launched_works_on_the_engine_of_the_instance(
    instance: dg.DagsterInstance,
) -> None:
    target = PythonFileTarget(engine_location.__file__, "defs", str(ROOT), "location")
    with WorkspaceProcessContext(instance, target) as served:
        workspace = served.create_request_context()
        location = workspace.get_code_location("location")
        job = location.get_repository("__repository__").get_full_job("shards_job")
        run = instance.create_run_for_job(
            engine_location.shards_job,
            remote_job_origin=job.get_remote_origin(),
            job_code_origin=job.get_python_origin(),
        )
        instance.launch_run(run.run_id, workspace)
        while not (ended := instance.get_run_by_id(run.run_id)) or not ended.is_finished:
            time.sleep(0.1)
    log = instance.all_logs(run.run_id)
    assert ended.is_success, [entry.message for entry in log][-3:]
    (said,) = [one.asset_materialization for one in log if one.asset_materialization]
    assert said.metadata["engine"].value == "dask"
    assert said.metadata["totals"].value == str([add_up(Shard(n)).total for n in (1, 2)])
    assert "127.0.0.1" in str(said.metadata["worker"].value)


def test_whoever_starts_a_run_stands_above_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    of_instance = resource_beside(CLUSTER).settings()
    assert (of_instance.engine, of_instance.dask_address) == ("dask", CLUSTER["address"])
    monkeypatch.setenv("FABRIC_DASK_ADDRESS", "tcp://127.0.0.1:1")  # without asking for an engine
    assert resource_beside(CLUSTER).settings().dask_address == CLUSTER["address"]
    monkeypatch.setenv("ENGINE", "dask")
    assert resource_beside(CLUSTER).settings().dask_address == "tcp://127.0.0.1:1"
    monkeypatch.setenv("FABRIC_ENGINE", "local")
    assert resource_beside(CLUSTER).settings().engine == "local"
    asked = resource_beside(CLUSTER, engine="dask", dask_workers=3).settings()
    assert (asked.engine, asked.dask_address, asked.dask_workers) == ("dask", "", 3)


def test_an_instance_that_names_no_engine_leaves_it_open() -> None:
    assert resource_beside({}).settings().engine == ""


def test_the_shipped_settings_of_the_instance_name_the_local_engine() -> None:
    config = yaml.safe_load((ROOT / "dagster.yaml").read_text("utf-8"))
    assert config["run_launcher"]["class"] == ShardEngineRunLauncher.__name__
    assert config["run_launcher"]["config"] == {"engine": "local"}

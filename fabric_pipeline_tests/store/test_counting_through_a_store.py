"""Shards that reach their workers through an object store give what they give in a shared folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline.workflows.drop_stages import ingest_stage, link_counters_stage
from fabric_pipeline_tests.engine.clusters import cluster_in_this_process
from fabric_pipeline_tests.halls import DROP, write_hall
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT

STORE = "s3://bucket/site"


@pytest.mark.usefixtures("bucket")
def test_an_object_store_in_between_changes_no_byte_and_is_used_again(tmp_path: Path) -> None:
    hall = write_hall(tmp_path / DROP)
    hashes, figures = [], []
    with cluster_in_this_process() as cluster:
        for home, url in (("here", ""), ("there", STORE), ("again", STORE)):
            settings = Settings(
                root=ROOT,
                home=tmp_path / home,
                shard_readings=1,
                shard_store=url,
                engine="dask" if url else "",
                dask_address=cluster.scheduler_address if url else "",
            )
            ingest_stage(settings, DROP, hall, NOW)
            figures.append(link_counters_stage(settings, DROP).figures)
            hashes.append(table_sha256(settings, "link_counters", DROP))
    assert len(set(hashes)) == 1
    assert [one["shards_found_again"] for one in figures] == [0, 0, figures[2]["shards"]]
    assert not settings.shards.exists()
    assert len(lake.parts_of(settings.lake, "link_counters", DROP)) == figures[2]["shards"]

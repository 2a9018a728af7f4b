"""The options of `run` that say where shards are worked on."""

from __future__ import annotations

from fabric_pipeline_tests.cli.calls import Shell


def test_an_engine_that_cannot_be_is_refused_before_anything_is_read(shell: Shell) -> None:
    answer = shell("run", "no-such-drop", "--engine", "ray")
    assert answer.code == 2
    assert "there is no engine 'ray'" in answer.err
    assert "local, dask" in answer.err

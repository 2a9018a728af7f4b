"""The two sensors and the hourly net, tick by tick, without a daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest

from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.schedules import hourly_drops
from fabric_pipeline.orchestration.sensors import drop_sensor, review_sensor
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.orchestration.runs import DROP, Elsewhere, tickets_of
from fabric_pipeline_tests.pipeline_runs import NOW

HOUR = 3600.0
START = 1_700_000_000.0


@dataclass
class Watch:
    """An inbox that is looked at by the drop sensor; `clock` is Unix seconds and moves by itself."""

    place: Path
    instance: dg.DagsterInstance
    clock: float = START
    cursor: str | None = None
    keys: list[str] = field(default_factory=list)

    @property
    def inbox(self) -> Path:
        return self.place / "data" / "drops"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.place / "warehouse" / "ledger.sqlite")

    def put(self, drop: str, text: str, *, age_s: float = HOUR, file: str = "a.log") -> Path:
        """A drop of one file that was written `age_s` seconds before the clock."""
        path = self.inbox / drop / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (self.clock - age_s,) * 2)
        return path

    def tick(self) -> dg.SensorResult | dg.SkipReason:
        """One look; the cursor is kept as the daemon would keep it."""
        self.clock += 15
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"fabric": self.resource()}
        )
        answer = drop_sensor(context)
        assert isinstance(answer, dg.SensorResult | dg.SkipReason)
        self.cursor = answer.cursor if isinstance(answer, dg.SensorResult) else context.cursor
        if isinstance(answer, dg.SensorResult):
            self.keys += [str(request.run_key) for request in answer.run_requests or []]
        return answer

    def requested(self) -> list[str]:
        """Partitions that this look wants to run."""
        answer = self.tick()
        requests = answer.run_requests if isinstance(answer, dg.SensorResult) else []
        return [str(request.partition_key) for request in requests or []]

    def skipped(self) -> str:
        answer = self.tick()
        assert isinstance(answer, dg.SkipReason), answer
        return answer.skip_message or ""

    def finish(self, drop: str) -> None:
        """As the run of this drop would."""
        content = self.ledger.drop(drop).content_sha256
        self.ledger.mark_processed(drop, content, NOW)

    def hourly(self) -> list[dg.RunRequest | dg.SkipReason]:
        resources = {"fabric": self.resource()}
        with dg.build_schedule_context(instance=self.instance, resources=resources) as context:
            found = hourly_drops(context)
            assert isinstance(found, Iterator)
            return list(found)

    def resource(self) -> Elsewhere:
        return Elsewhere(place=str(self.place), at=self.clock)


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Watch(tmp_path, instance)


def test_a_new_drop_is_asked_for_with_its_partition(watch: Watch) -> None:
    watch.put("Night Run", "x")
    answer = watch.tick()
    assert isinstance(answer, dg.SensorResult)
    assert [request.partition_key for request in answer.run_requests or []] == ["night-run"]
    (added,) = answer.dynamic_partitions_requests or []
    assert list(added.partition_keys) == ["night-run"]
    assert watch.skipped() == "no new drop"


def test_a_single_file_and_a_folder_are_drops_and_hidden_names_are_not(watch: Watch) -> None:
    watch.put("folder", "x")
    watch.put(".", "y", file="one.log")
    watch.put(".partial", "z")
    assert watch.requested() == ["folder", "one"]


def test_a_touched_file_is_not_read_again(watch: Watch) -> None:
    watch.put("d", "x")
    assert watch.requested() == ["d"]
    watch.finish("d")
    watch.put("d", "x", age_s=HOUR / 2)
    assert watch.skipped() == "d was read before"
    assert watch.skipped() == "no new drop"


def test_a_touched_drop_whose_run_was_cut_short_is_read_again(watch: Watch) -> None:
    watch.put("d", "x")
    watch.requested()
    watch.put("d", "x", age_s=HOUR / 2)
    assert watch.requested() == ["d"]
    assert len(set(watch.keys)) == 2


def test_changed_content_is_the_same_partition_under_a_new_key(watch: Watch) -> None:
    watch.put("d", "x")
    watch.requested()
    watch.finish("d")
    watch.put("d", "changed", age_s=HOUR / 2)
    assert watch.requested() == ["d"]
    assert len(set(watch.keys)) == 2


@pytest.mark.parametrize("keeps_times", [False, True])
def test_there_and_back_is_read_three_times(watch: Watch, keeps_times: bool) -> None:
    began = watch.clock
    for content in ("A", "B", "A"):
        age = watch.clock - began + (HOUR if content == "A" else HOUR / 2)
        watch.put("d", content, age_s=age if keeps_times else HOUR)
        assert watch.requested() == ["d"]
        watch.finish("d")
    assert len(set(watch.keys)) == 3


def test_the_same_bytes_under_another_name_are_skipped_with_the_owner(watch: Watch) -> None:
    watch.put("first", "x")
    watch.requested()
    watch.put("second", "x")
    assert watch.skipped() == "second has the same content as drop first: not read again"
    assert [row.drop_id for row in watch.ledger.drops()] == ["first"]


def test_a_half_written_drop_waits_until_it_has_settled(watch: Watch) -> None:
    watch.put("d", "old")
    watch.put("d", "hal", age_s=-14, file="b.log")
    assert watch.skipped() == "no new drop"
    assert watch.ledger.drops() == []
    assert watch.requested() == ["d"]


def test_a_file_time_in_the_future_does_not_hold_a_drop_up(watch: Watch) -> None:
    watch.put("d", "x", age_s=-30 * HOUR)
    assert watch.requested() == ["d"]


def test_an_unreadable_description_does_not_stop_the_others(watch: Watch) -> None:
    watch.put("a-broken", "site: [", file="drop.yaml")
    watch.put("b-good", "x")
    assert watch.requested() == ["b-good"]
    assert watch.skipped().startswith("a-broken: drop.yaml")
    watch.put("a-broken", "site: hall", file="drop.yaml")
    assert watch.requested() == ["a-broken"]


def test_an_empty_drop_is_named_and_not_run(watch: Watch) -> None:
    (watch.inbox / "nothing").mkdir(parents=True)
    assert "the drop is empty" in watch.skipped()


def test_a_cursor_that_was_reset_starts_no_finished_drop_again(watch: Watch) -> None:
    watch.put("d", "x")
    watch.requested()
    watch.finish("d")
    watch.cursor = None
    assert watch.skipped() == "d was read before"
    assert json.dumps(str(watch.inbox / "d")) in str(watch.cursor)


def test_the_hourly_net_catches_what_was_not_finished(tmp_path: Path) -> None:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as on_disk:
        watch = Watch(tmp_path, on_disk)
        watch.put("a-done", "x")
        watch.put("cut-short", "y")
        watch.put("done-copied", "x")
        watch.put("broken", "site: [", file="drop.yaml")
        assert watch.requested() == ["a-done", "cut-short"]
        watch.finish("a-done")
        wanted = [one for one in watch.hourly() if isinstance(one, dg.RunRequest)]
        assert [one.partition_key for one in wanted] == ["cut-short"]
        assert list(on_disk.get_dynamic_partitions("drops")) == ["cut-short"]
        same_hour = [one.run_key for one in watch.hourly() if isinstance(one, dg.RunRequest)]
        watch.clock += HOUR
        next_hour = [one.run_key for one in watch.hourly() if isinstance(one, dg.RunRequest)]
    assert same_hour == [one.run_key for one in wanted]
    assert next_hour != same_hour


def test_the_hourly_net_skips_when_all_is_read(watch: Watch) -> None:
    watch.put("d", "x")
    watch.requested()
    watch.finish("d")
    (answer,) = watch.hourly()
    assert isinstance(answer, dg.SkipReason)


@dataclass
class Desk:
    """The review sensor over a diagnosed home."""

    settings: Settings
    instance: dg.DagsterInstance
    cursor: str | None = None

    def decide(self, ticket: str, decision: str, who: str = "Mara") -> None:
        review(Ledger(self.settings.ledger), ticket, None, decision, who, "seen", NOW)

    def tick(self) -> dg.SensorResult | dg.SkipReason:
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, resources={"fabric": FabricResource()}
        )
        answer = review_sensor(context)
        assert isinstance(answer, dg.SensorResult | dg.SkipReason)
        if isinstance(answer, dg.SensorResult):
            self.cursor = answer.cursor
        return answer


def test_an_approval_launches_the_publish_job_and_a_rejection_nothing(
    home: Settings, instance: dg.DagsterInstance
) -> None:
    desk = Desk(home, instance)
    first, second = tickets_of(home)
    assert isinstance(desk.tick(), dg.SkipReason)
    desk.decide(first, "rejected")
    answer = desk.tick()
    assert isinstance(answer, dg.SensorResult)
    assert (answer.run_requests, desk.cursor) == ([], "1")
    desk.decide(first, "approved")
    desk.decide(second, "approved", "Olu")
    answer = desk.tick()
    assert isinstance(answer, dg.SensorResult)
    requests = answer.run_requests or []
    assert [one.run_key for one in requests] == ["review-2", "review-3"]
    assert {one.partition_key for one in requests} == {DROP}
    assert [one.tags["fabric/reviewed_by"] for one in requests] == ["Mara", "Olu"]
    assert desk.cursor == "3"
    assert isinstance(desk.tick(), dg.SkipReason)


def test_an_approval_in_an_instance_that_never_saw_the_drop_adds_its_partition(
    home: Settings,
) -> None:
    with dg.DagsterInstance.ephemeral() as fresh:
        desk = Desk(home, fresh)
        desk.decide(tickets_of(home)[0], "approved")
        answer = desk.tick()
        assert isinstance(answer, dg.SensorResult)
        (added,) = answer.dynamic_partitions_requests or []
        assert list(added.partition_keys) == [DROP]

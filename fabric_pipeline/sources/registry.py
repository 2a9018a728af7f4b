"""Finding the reader for a file: a built-in table plus the entry-point group `fabric_pipeline.sources`.

Listing the table imports nothing, and a built-in reader is imported when its turn to be asked comes.
Built-in readers stand here so that a plain checkout works without being installed; third parties add
theirs by entry point, and a format id may exist only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import overload

from fabric_pipeline.errors import UsageError
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.sessions import session_reader

ENTRY_POINT_GROUP = "fabric_pipeline.sources"
UNKNOWN_FORMAT = "unknown"
_MEMBERS = ("version", "yields", "score", "read")  # of sources.base.Reader, beside the format id
_CERTAIN = 98  # only readers of our own contract, which nothing else can look like, are this sure

_PACKAGE = "fabric_pipeline.sources"
BUILT_IN: dict[str, str] = {
    "fabric_collectives": f"{_PACKAGE}.normalized.collectives:CollectivesReader",
    "fabric_counters": f"{_PACKAGE}.normalized.counters:CountersReader",
    "fabric_events": f"{_PACKAGE}.normalized.events:EventsReader",
    "fabric_runs": f"{_PACKAGE}.normalized.runs:RunsReader",
    "fabric_topology": f"{_PACKAGE}.normalized.topology:TopologyReader",
    "reference_case": f"{_PACKAGE}.reference_case:ReferenceCaseReader",
    "dlcomm_log": f"{_PACKAGE}.collectives.dlcomm:DlcommReader",
    "torch_flight_recorder_json": f"{_PACKAGE}.collectives.flight_recorder:FlightRecorderReader",
    "torch_flight_recorder_pickle": f"{_PACKAGE}.collectives.flight_recorder_pickle:FlightRecorderPickleReader",
    "injection_bandwidth_text": f"{_PACKAGE}.collectives.injection:InjectionReader",
    "nccl_inspector_json": f"{_PACKAGE}.collectives.inspector_json:InspectorJsonReader",
    "nccl_inspector_exporter_log": f"{_PACKAGE}.collectives.inspector_log:InspectorLogReader",
    "job_meta_yaml": f"{_PACKAGE}.collectives.job_meta:JobMetaReader",
    "kineto_trace": f"{_PACKAGE}.collectives.kineto:KinetoReader",
    "nccl_graph_xml": f"{_PACKAGE}.collectives.nccl_graph:NcclGraphXmlReader",
    "nccl_tests": f"{_PACKAGE}.collectives.nccl_tests:NcclTestsReader",
    "nccl_topo_xml": f"{_PACKAGE}.collectives.nccl_topo:NcclTopoXmlReader",
    "nccl_pair_table": f"{_PACKAGE}.collectives.pair_table:PairTableReader",
    "rank_timing_json": f"{_PACKAGE}.collectives.rank_timing:RankTimingReader",
    "nccl_ras_json": f"{_PACKAGE}.collectives.ras_json:RasJsonReader",
    "nccl_ras_text": f"{_PACKAGE}.collectives.ras_text:RasTextReader",
    "straggler_ops_parquet": f"{_PACKAGE}.collectives.straggler_ops:StragglerOpsReader",
    "superbench_results_jsonl": f"{_PACKAGE}.collectives.superbench:SuperbenchResultsReader",
    "superbench_diagnosis_jsonl": f"{_PACKAGE}.collectives.superbench:SuperbenchDiagnosisReader",
    "superbench_monitor_jsonl": f"{_PACKAGE}.collectives.superbench:SuperbenchMonitorReader",
    "straggler_timeline_json": f"{_PACKAGE}.collectives.timeline:TimelineReader",
    "training_log": f"{_PACKAGE}.collectives.training_log:TrainingLogReader",
    "torch_watchdog_log": f"{_PACKAGE}.collectives.watchdog:WatchdogReader",
    "dcgmi_diag_json": f"{_PACKAGE}.dcgmi.diag_json:DcgmiDiagJsonReader",
    "dcgmi_diag_text": f"{_PACKAGE}.dcgmi.diag_text:DcgmiDiagTextReader",
    "dcgmi_health": f"{_PACKAGE}.dcgmi.health:DcgmiHealthReader",
    "dcgmi_discovery": f"{_PACKAGE}.dcgmi.discovery:DcgmiDiscoveryReader",
    "dcgmi_dmon": f"{_PACKAGE}.dcgmi.dmon:DcgmiDmonReader",
    "dcgmi_nvlink_errors": f"{_PACKAGE}.dcgmi.nvlink_errors:DcgmiNvlinkErrorsReader",
    "dcgmi_nvlink_errors_json": f"{_PACKAGE}.dcgmi.nvlink_errors_json:DcgmiNvlinkErrorsJsonReader",
    "dcgmi_nvlink_status": f"{_PACKAGE}.dcgmi.nvlink_status:DcgmiNvlinkStatusReader",
    "dcgmi_topo_json": f"{_PACKAGE}.dcgmi.topo_json:DcgmiTopoJsonReader",
    "ethtool_link": f"{_PACKAGE}.ethtool_link:EthtoolLinkReader",
    "ethtool_module": f"{_PACKAGE}.ethtool_module:EthtoolModuleReader",
    "ethtool_stats": f"{_PACKAGE}.ethtool:EthtoolStatsReader",
    "netbox_csv": f"{_PACKAGE}.fabric_map.netbox_csv:NetboxCsvReader",
    "slurm_topology": f"{_PACKAGE}.fabric_map.slurm_topology:SlurmTopologyReader",
    "fabricmanager_log": f"{_PACKAGE}.fabricmanager:FabricManagerLogReader",
    "ibdiagnet2_cables": f"{_PACKAGE}.infiniband.ibdiagnet2_cables:Ibdiagnet2CablesReader",
    "ibdiagnet2_db_csv": f"{_PACKAGE}.infiniband.ibdiagnet2_db_csv:Ibdiagnet2DbCsvReader",
    "ibdiagnet2_log": f"{_PACKAGE}.infiniband.ibdiagnet2_log:Ibdiagnet2LogReader",
    "ibdiagnet2_lst": f"{_PACKAGE}.infiniband.ibdiagnet2_lst:Ibdiagnet2LstReader",
    "ibdiagnet2_net_dump_ext": f"{_PACKAGE}.infiniband.ibdiagnet2_net_dump_ext:Ibdiagnet2NetDumpExtReader",
    "ibdiagnet2_report": f"{_PACKAGE}.infiniband.ibdiagnet2_report:Ibdiagnet2ReportReader",
    "iblinkinfo": f"{_PACKAGE}.infiniband.iblinkinfo:IblinkinfoReader",
    "ibnetdiscover": f"{_PACKAGE}.infiniband.ibnetdiscover:IbnetdiscoverReader",
    "ibnetdiscover_ports": f"{_PACKAGE}.infiniband.ibnetdiscover_ports:IbnetdiscoverPortsReader",
    "ibqueryerrors": f"{_PACKAGE}.infiniband.ibqueryerrors:IbqueryerrorsReader",
    "ibstat": f"{_PACKAGE}.infiniband.ibstat:IbstatReader",
    "ibstatus": f"{_PACKAGE}.infiniband.ibstatus:IbstatusReader",
    "ibswinfo": f"{_PACKAGE}.infiniband.ibswinfo:IbswinfoReader",
    "ibswitches": f"{_PACKAGE}.infiniband.ibswitches:IbswitchesReader",
    "ibv_devinfo": f"{_PACKAGE}.infiniband.ibv_devinfo:IbvDevinfoReader",
    "mlxlink_json": f"{_PACKAGE}.infiniband.mlxlink_json:MlxlinkJsonReader",
    "mlxlink_text": f"{_PACKAGE}.infiniband.mlxlink_text:MlxlinkTextReader",
    "perfquery": f"{_PACKAGE}.infiniband.perfquery:PerfqueryReader",
    "rdma_ports": f"{_PACKAGE}.infiniband.rdma_ports:RdmaPortsReader",
    "sysfs_infiniband_grep": f"{_PACKAGE}.infiniband.sysfs_grep:SysfsGrepReader",
    "sysfs_snapshot_json": f"{_PACKAGE}.infiniband.sysfs_snapshot:SysfsSnapshotReader",
    "sysfs_ttar": f"{_PACKAGE}.infiniband.sysfs_ttar:SysfsTtarReader",
    "kernel_log": f"{_PACKAGE}.kernel_log.reader:KernelLogReader",
    "lspci_verbose": f"{_PACKAGE}.lspci:LspciVerboseReader",
    "lspci_list": f"{_PACKAGE}.lspci:LspciListReader",
    "link_summary_json": f"{_PACKAGE}.nvidia_smi.link_summary:LinkSummaryReader",
    "nvidia_smi_nvlink_capabilities": f"{_PACKAGE}.nvidia_smi.nvlink_capabilities:NvlinkCapabilitiesReader",
    "nvidia_smi_nvlink_errors": f"{_PACKAGE}.nvidia_smi.nvlink_errors:NvlinkErrorsReader",
    "nvidia_smi_nvlink_info": f"{_PACKAGE}.nvidia_smi.nvlink_info:NvlinkInfoReader",
    "nvidia_smi_nvlink_remote": f"{_PACKAGE}.nvidia_smi.nvlink_remote:NvlinkRemoteReader",
    "nvidia_smi_nvlink_status": f"{_PACKAGE}.nvidia_smi.nvlink_status:NvlinkStatusReader",
    "nvidia_smi_query_csv": f"{_PACKAGE}.nvidia_smi.query_csv:QueryCsvReader",
    "nvidia_smi_query_text": f"{_PACKAGE}.nvidia_smi.query_text:QueryTextReader",
    "nvidia_smi_query_xml": f"{_PACKAGE}.nvidia_smi.query_xml:QueryXmlReader",
    "nvidia_smi_topo_matrix": f"{_PACKAGE}.nvidia_smi.topo_matrix:TopoMatrixReader",
    "dcgm_exporter": f"{_PACKAGE}.prometheus.dcgm_exporter:DcgmExporterReader",
    "nccl_inspector_prom": f"{_PACKAGE}.prometheus.nccl_inspector_prom:NcclInspectorPromReader",
    "node_exporter": f"{_PACKAGE}.prometheus.node_exporter:NodeExporterReader",
    "prometheus_query_json": f"{_PACKAGE}.prometheus.query_json:PrometheusQueryReader",
    "ufm_event": f"{_PACKAGE}.ufm_event:UfmEventReader",
}


@dataclass(frozen=True, slots=True)
class Match:
    """The reader that fits a file best, or None, with how sure it is (0..100).

    `failures` tell of readers that broke on looking at the file; it is offered to the others.
    """

    reader: Reader | None
    score: int
    failures: tuple[str, ...] = ()

    @property
    def format_id(self) -> str:
        """The reader's format id, or `unknown`."""
        return self.reader.format_id if self.reader else UNKNOWN_FORMAT


def reader_targets() -> dict[str, str]:
    """Format id -> `module:attribute`, built-in and third-party; a duplicate id is refused."""
    targets = dict(BUILT_IN)
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name in targets:
            raise UsageError(
                f"the reader {point.value} claims the format id {point.name!r}, which {targets[point.name]} has",
                "uninstall one of the two packages",
            )
        targets[point.name] = point.value
    return targets


@cache
def readers() -> Sequence[Reader]:
    """All readers, in the order of the table; a built-in one is loaded when it is reached.

    Those of other packages are loaded at once, so that a broken one is told whatever files there are.
    """
    targets = reader_targets()
    for format_id, target in targets.items():
        if format_id not in BUILT_IN:
            _load(format_id, target)
    return _Shelf(targets)


class _Shelf(Sequence[Reader]):
    """Readers in order. Files of our own contract are known after five, the rest stays unloaded."""

    def __init__(self, targets: dict[str, str]) -> None:
        self._targets = tuple(targets.items())

    def __len__(self) -> int:
        return len(self._targets)

    @overload
    def __getitem__(self, at: int) -> Reader: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Reader]: ...
    def __getitem__(self, at: int | slice) -> Reader | Sequence[Reader]:
        if isinstance(at, slice):
            return [_load(*target) for target in self._targets[at]]
        return _load(*self._targets[at])

    def __iter__(self) -> Iterator[Reader]:
        return (_load(*target) for target in self._targets)


def reader_for(format_id: str) -> Reader:
    """The reader of one format id; an unknown id lists those that exist."""
    targets = reader_targets()
    if format_id not in targets:
        raise UsageError(
            f"no reader for the format {format_id!r}",
            f"known formats: {', '.join(sorted(targets))}",
        )
    return _load(format_id, targets[format_id])


def recognise(file: SourceFile) -> Match:
    """The reader of a file; of a session with several tools, one that reads each part by its own.

    Raises OSError when the file cannot be opened.
    """
    match = _best(file)
    if match.reader is None:
        return match
    joined = session_reader(file, match.reader, lambda part: _best(part).reader)
    return replace(match, reader=joined) if joined else match


def _best(file: SourceFile) -> Match:
    """The reader with the highest score; ties go to the earlier one in the table, certainty ends the search."""
    best, best_score, failures = None, 0, []
    for reader in readers():
        try:
            score = reader.score(file)
        except OSError:
            raise
        except Exception as problem:  # a reader of somebody else's must not keep a file from ours
            failures.append(f"the reader {reader.format_id} failed ({type(problem).__name__})")
            continue
        if score > best_score:
            best, best_score = reader, score
        if score >= _CERTAIN:
            break
    return Match(best, best_score, tuple(failures))


@cache
def _load(format_id: str, target: str) -> Reader:
    module_name, _, attribute = target.partition(":")
    try:
        reader: Reader = getattr(import_module(module_name), attribute)()
        known_as = reader.format_id
    except Exception as problem:  # somebody else's module may fail in any way
        raise UsageError(
            f"the reader of {format_id!r} cannot be loaded from {target}: {type(problem).__name__}: {problem}",
            "install what its package needs, or uninstall that package",
        ) from problem
    if known_as != format_id:
        raise UsageError(
            f"{target} is registered as {format_id!r} but calls itself {known_as!r}",
            "correct the table or the entry point",
        )
    missing = [name for name in _MEMBERS if not hasattr(reader, name)]
    if missing:
        raise UsageError(
            f"the reader of {format_id!r} ({target}) has no {' and no '.join(missing)}",
            "see docs/how_to/add_a_reader.md for what a reader must have",
        )
    return reader

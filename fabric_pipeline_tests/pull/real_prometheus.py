"""A real Prometheus on loopback: two hours of known history, and a small exporter of ours that it scrapes.

The history is written by promtool, so that every sample is known exactly. The Debian package
`prometheus` brings both programs.
"""

from __future__ import annotations

import http.server
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

MISSING = "the Debian package prometheus is not installed: apt-get install prometheus"
STEP_S = 15
END = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
HISTORY = timedelta(hours=2)
# An hour of one metric of both hosts is 480 samples, which the server gives; two hours it refuses.
MAX_SAMPLES = 600
HOSTS = {"10.0.0.1:9100": "calc-r1-n1", "10.0.0.2:9100": "calc-r1-n2"}
# One metric a row: name, labels beside the instance, increase a step.
SERIES = (
    ("node_infiniband_symbol_error_total", {"device": "mlx5_0", "port": "1"}, 3),
    ("node_infiniband_port_data_received_bytes_total", {"device": "mlx5_0", "port": "1"}, 4096),
    ("node_load1", {}, 0),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", {"gpu": "0", "device": "nvidia0"}, 1),
)


@dataclass(frozen=True)
class Running:
    """The server's address, and the folder it stores into."""

    url: str
    folder: Path


def is_installed() -> bool:
    """True when both programs of the package are there."""
    return bool(shutil.which("prometheus") and shutil.which("promtool"))


def value_at(row: int, host: int, at: datetime) -> int:
    """The value of a series at a time of the history."""
    steps = int((at - (END - HISTORY)).total_seconds()) // STEP_S
    return 1000 * host + SERIES[row][2] * steps


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Start exporter and server; both end with the block."""
    with _exporter() as scraped, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (folder / "history.txt").write_text(_history(), encoding="utf-8")
        blocks = ["tsdb", "create-blocks-from", "openmetrics", "history.txt", "data"]
        subprocess.run(["promtool", *blocks], cwd=folder, check=True, capture_output=True)
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: ours\n"
            f"  static_configs: [{{targets: ['{scraped}']}}]\n",
            encoding="utf-8",
        )
        taken.close()
        server = subprocess.Popen(
            [
                "prometheus",
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--storage.tsdb.retention.time=20y",
                f"--web.listen-address=127.0.0.1:{port}",
                f"--query.max-samples={MAX_SAMPLES}",
                "--log.level=error",
            ],
            cwd=folder,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url)
            yield Running(url, folder)
        finally:
            server.terminate()
            server.wait(20)


def _wait_until_ready(url: str) -> None:
    for _ in range(200):
        try:
            if httpx2.get(f"{url}/-/ready").status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError("prometheus did not get ready")


def _history() -> str:
    times = [END - HISTORY + timedelta(seconds=STEP_S * n) for n in range(481)]
    lines = []
    for row, (name, labels, _) in enumerate(SERIES):
        lines.append(f"# TYPE {name} unknown")
        for host, instance in enumerate(HOSTS, 1):
            told = ",".join(f'{key}="{value}"' for key, value in _labels(name, instance, labels))
            lines += [
                f"{name}{{{told}}} {value_at(row, host, at)} {at.timestamp():.0f}" for at in times
            ]
    lines.append("# TYPE node_uname_info unknown")
    for instance, node in HOSTS.items():
        told = f'instance="{instance}",nodename="{node}"'
        lines += [f"node_uname_info{{{told}}} 1 {at.timestamp():.0f}" for at in times]
    return "\n".join([*lines, "# EOF", ""])


def _labels(name: str, instance: str, labels: dict[str, str]) -> list[tuple[str, str]]:
    named = [("Hostname", HOSTS[instance])] if name.startswith("DCGM") else []
    return [("instance", instance), *named, *labels.items()]


@contextmanager
def _exporter() -> Iterator[str]:
    """A page with one counter that grows by two with every scrape."""
    counted = iter(range(0, 10**6, 2))

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (
                "# TYPE node_infiniband_link_downed_total counter\n"
                f'node_infiniband_link_downed_total{{device="mlx5_3",port="1"}} {next(counted)}\n'
                'node_uname_info{nodename="live-n7"} 1\n'
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

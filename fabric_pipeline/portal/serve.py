"""Starting the portal: checks the address against the way people are known, then serves until stopped.

A thread keeps the newest drop ready, so that nobody waits for the first page of a large fabric.
"""

from __future__ import annotations

import uvicorn

from fabric_pipeline.portal.app import LOOPBACK_NAMES, create_app
from fabric_pipeline.portal.identity import Auth, check_auth
from fabric_pipeline.portal.security_connections import PunctualProtocol
from fabric_pipeline.portal.views import Warmer
from fabric_pipeline.settings import Settings


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    auth: Auth,
    names: tuple[str, ...] = (),
    dagster_url: str = "",
) -> None:
    """Serve until interrupted. `names` are further names that browsers use for this portal.

    Raises UsageError when the address can be reached from elsewhere and nobody would be known there.
    """
    check_auth(auth, host)
    known = LOOPBACK_NAMES | {name.lower() for name in names} | {host.lower()}
    app = create_app(settings, auth, hosts=frozenset(known), dagster_url=dagster_url)
    warmer = Warmer(app.state.portal.views)
    warmer.start()
    try:
        uvicorn.run(
            app,
            host=host,
            port=port,
            log_level="warning",
            proxy_headers=False,  # the guard reads the user header itself, from listed addresses alone
            server_header=False,
            http=PunctualProtocol,
            limit_concurrency=200,
            h11_max_incomplete_event_size=32 * 1024,
        )
    finally:
        warmer.stop()

"""Tests of fetching telemetry, against a real Prometheus on loopback."""

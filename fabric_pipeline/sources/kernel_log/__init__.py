"""Kernel logs in any frame: dmesg, journal, syslog, `/dev/kmsg`, Talos, container logs.

`frames` takes the time stamp and host off a line, the message parsers (`nvidia`, `aer`, `mlx5`) fold
lines into events, `reader` is the public door. Nothing here judges; catalogues only quote the vendor.
"""

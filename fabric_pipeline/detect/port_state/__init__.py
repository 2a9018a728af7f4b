"""Judges states, widths and speeds of InfiniBand, RoCE and Ethernet ports.

`evaluate` is the door; the other modules hold one group of rules each. Counters are judged in
`detect.port_counters`, NVLink and PCIe states elsewhere.
"""

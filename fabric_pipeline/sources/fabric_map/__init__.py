"""Readers of maps that people keep: Slurm's topology files and exports of NetBox.

They measure nothing. What they state of one machine or cable is laid beside other sources in
`model.topology`.
"""

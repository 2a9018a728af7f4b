"""Readers of what NVIDIA's DCGM command line `dcgmi` prints: NVLink tables, diagnostics, samples.

One module per output. DCGM numbers GPUs like nvidia-smi does; nothing here judges a value.
"""

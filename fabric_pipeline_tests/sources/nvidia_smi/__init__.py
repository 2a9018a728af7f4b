"""Tests of the readers of nvidia-smi output."""

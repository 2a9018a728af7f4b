"""Tests of the readers of dcgmi output."""

"""Tests of the readers of the normalized drop."""

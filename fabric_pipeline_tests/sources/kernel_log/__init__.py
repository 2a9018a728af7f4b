"""Tests of the kernel log reader and its parts."""

"""Tests of the drafters; no test here reaches any host but 127.0.0.1."""

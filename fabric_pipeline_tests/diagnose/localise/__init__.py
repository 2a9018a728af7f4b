"""Tests of localisation: which link slows the collectives, and how sure that is."""

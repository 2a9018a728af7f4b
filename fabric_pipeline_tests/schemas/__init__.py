"""Tests of the table descriptions and of what is made from them."""

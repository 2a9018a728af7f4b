"""Readers of file formats: one module or package per tool family, found through `registry`.

A reader turns a file into `model.records`; it does not judge and knows no storage. Third parties add
readers through the entry-point group `fabric_pipeline.sources`.
"""

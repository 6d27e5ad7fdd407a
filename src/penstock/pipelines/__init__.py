"""Spark Declarative Pipelines over streams: one folder for each, `catalog.py` lists them."""

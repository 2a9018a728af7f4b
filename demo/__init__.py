"""What is shown of the product, made by the product: example tickets and stories for the docs.

Nothing here is part of the installed package, and nothing is measured here (see `benchmarks`).
"""

"""`python -m fabric_pipeline` is the same as the command `fabric-pipeline`."""

from fabric_pipeline.cli.main import main

main()

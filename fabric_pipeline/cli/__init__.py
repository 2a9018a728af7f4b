"""The command line: thin commands over `workflows`; stdout is data, stderr is talk.

Modules import only typer and the standard library at the top, so that the command starts fast.
"""

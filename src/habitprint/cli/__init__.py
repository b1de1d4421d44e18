"""The command line: one file per command."""

from habitprint.cli.app import main

__all__ = ["main"]

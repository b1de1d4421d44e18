"""Input and output: files, tables, databases and text formats."""

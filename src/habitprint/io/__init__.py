"""Files and tables: found, opened, checked and written."""

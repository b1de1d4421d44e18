"""Standard streams that are closed when Python starts (``2>&-``) lead nowhere, before any library opens a file.

Polars waits for ever if a file of its own gets the number of a standard stream. So `habitprint` imports this first.
"""

import os

for number in range(3):
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        os.set_inheritable(number, True)  # noqa: FBT003 - for programs that are started, such as Spark's Java

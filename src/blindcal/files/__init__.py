"""Text and bytes -> strict tables and JSON, and back: cells of a CSV, atomic confidential files, canonical
forms.

In: paths and bytes. Out: `Table`, numbers and text that were checked cell by cell; files that are there
whole or not at all. Imports: errors, cells, checks.
"""

from blindcal.files.disk import (
    canonical,
    digest,
    lock,
    read_bytes,
    read_json,
    read_table,
    write_bytes,
    write_json,
    write_table,
)
from blindcal.files.tables import Table, format_table, parse_table

__all__ = [
    "Table",
    "canonical",
    "digest",
    "format_table",
    "lock",
    "parse_table",
    "read_bytes",
    "read_json",
    "read_table",
    "write_bytes",
    "write_json",
    "write_table",
]

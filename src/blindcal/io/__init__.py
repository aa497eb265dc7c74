"""Bytes on disk to checked tables and JSON, and back.

In: paths, bytes or data frames, and columns with their rules. Out: `Table`, or one `InputError` that names
every bad cell; files that are written whole or not at all. Open `tables` first, then `atomic_files`. Imports:
errors, cells, checks.
"""

from blindcal.io.atomic_files import (
    canonical_json,
    digest,
    lock,
    read_bytes,
    read_json,
    read_table,
    write_bytes,
    write_json,
    write_table,
)
from blindcal.io.tables import Table, format_table, parse_table, table_from_frame

__all__ = [
    "Table",
    "canonical_json",
    "digest",
    "format_table",
    "lock",
    "parse_table",
    "read_bytes",
    "read_json",
    "read_table",
    "table_from_frame",
    "write_bytes",
    "write_json",
    "write_table",
]

"""Bytes on disk to checked tables and JSON, and back.

In: paths, bytes or data frames, and columns with their rules. Out: `Table`, or one `InputError` that names
every bad cell; files that are written whole or not at all. Open `tables` first, then `cells` and
`atomic_files`. Imports: errors.
"""

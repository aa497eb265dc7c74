"""Many papers on several cores or machines, and the linear-program solver.

In: a function and its items; a linear program. Out: results in order, the same for any number of
workers; the program's solution. Open `parallel` first.
Imports: io and earlier.
"""

__all__ = []

"""Kernels of BLAS and of numpy that this machine can run; `machines` runs programs under them."""

from __future__ import annotations

from numpy._core import _multiarray_umath

_HAVE = {name for name, has in _multiarray_umath.__cpu_features__.items() if has}
# What OpenBLAS calls its kernels, and what a processor must have for each; SSE3 is part of every x86-64 here.
_NEEDS = {"Nehalem": "SSE42", "Prescott": "SSE3", "Sandybridge": "AVX", "Haswell": "AVX2", "Zen": "AVX2"}
# The extensions that numpy chooses among at run time, widest last.
_EXTENSIONS = [name for name in _multiarray_umath.__cpu_dispatch__ if name in _HAVE]

KERNELS: dict[str, dict[str, str]] = {
    "own": {},
    **{name: {"OPENBLAS_CORETYPE": name} for name, need in _NEEDS.items() if need in _HAVE},
    **{
        f"numpy without {_EXTENSIONS[first]}": {"NPY_DISABLE_CPU_FEATURES": " ".join(_EXTENSIONS[first:])}
        for first in range(len(_EXTENSIONS))
    },
}
"""Variables of the environment by the kernel that they choose. Only kernels that this machine can run."""

"""A curve in a terminal: characters only, the same on every machine."""

from __future__ import annotations

import math

import numpy as np

from blindcal.checks import Array

_WIDTH, _HEIGHT = 56, 14
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def plot(x: Array, y: Array, point: tuple[float, float] | None, x_name: str, y_name: str) -> str:
    """The line through (x, y), both from 0, as `*`; its vertices as `o` and `point` as `X`."""
    right, top = _round_up(float(x.max())), _round_up(float(y.max()))
    canvas = [[" "] * (_WIDTH + 1) for _ in range(_HEIGHT + 1)]

    def mark(across: float, up: float, sign: str) -> None:
        column, row = round(across / right * _WIDTH), round(up / top * _HEIGHT)
        if 0 <= column <= _WIDTH and 0 <= row <= _HEIGHT:
            canvas[_HEIGHT - row][column] = sign

    for k in range(len(x) - 1):
        for step in np.linspace(0.0, 1.0, 4 * _WIDTH):
            mark(x[k] + step * (x[k + 1] - x[k]), y[k] + step * (y[k + 1] - y[k]), "*")
    for across, up in zip(x, y, strict=True):
        mark(across, up, "o")
    if point is not None:
        mark(*point, "X")
    return "\n".join(_framed(canvas, right, top, x_name, y_name))


def _framed(canvas: list[list[str]], right: float, top: float, x_name: str, y_name: str) -> list[str]:
    middle = {0: f"{top:.3g}", _HEIGHT // 2: f"{top / 2:.3g}", _HEIGHT: "0"}
    margin = max(map(len, middle.values()))
    lines = [y_name]
    lines += [f"{middle.get(i, ''):>{margin}} |{''.join(row).rstrip()}" for i, row in enumerate(canvas)]
    lines.append(" " * margin + " +" + "-" * (_WIDTH + 1))
    half, end = f"{right / 2:.3g}", f"{right:.3g}"
    ticks = "0".ljust(_WIDTH // 2 - len(half) // 2) + half
    lines.append(" " * (margin + 2) + ticks + end.rjust(_WIDTH + 1 - len(ticks)))
    lines.append(" " * (margin + 2) + x_name.rjust(_WIDTH + 1))
    return lines


def _round_up(value: float) -> float:
    """The next 1, 2, 2.5 or 5 times a power of ten.

    >>> _round_up(0.3), _round_up(0.0), _round_up(0.21)
    (0.5, 1.0, 0.25)
    """
    if value <= 0.0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in _STEPS if step * unit >= value * (1.0 - 1e-12))

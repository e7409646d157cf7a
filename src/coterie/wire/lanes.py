"""Bits as flags of vector instructions, for numba kernels: sixteen signs of a codeword at a time.

Machines can add the entries of a vector where a flag is set, and the flags may be sixteen bits of a codeword
as they lie in memory. Compilers do not find that in a loop over bits, so these two functions are written in
the compiler's own language, for vectors of any machine.

Bit i of packed bytes is here bit i mod 8, *from the lowest*, of byte ⌊i/8⌋: the order in which a
little-endian machine has them, and numba knows no other. The stream's codewords begin with a byte's highest
bit, so coordinate i of a codeword is bit `lane_order(P)[i]` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic as _intrinsic
from numpy.typing import NDArray

intrinsic: Any = _intrinsic
_LANES: Final = 16  # bits at a time
_WORD: Final = ir.IntType(_LANES)
_FLAGS: Final = ir.VectorType(ir.IntType(1), _LANES)
_NUMBERS: Final = ir.VectorType(ir.IntType(32), _LANES)


def lane_order(size: int) -> NDArray[np.intp]:
    """Return the bit that holds each coordinate of a codeword of `size` signs: its own inverse.

    Examples
    --------
    >>> lane_order(16).tolist()
    [7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8]
    """
    return np.arange(size) ^ 7


@intrinsic
def sum_where(_: Any, packed: Any, start: Any, entries: Any) -> Any:
    """Return the sum, in 32 bits, of entries[i] over the bits i of packed[start:] that are one.

    packed (m,) of uint8, start int, entries (P,) of int32, P a multiple of 16.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        none = ir.Constant(_NUMBERS, None)
        total = cgutils.alloca_once_value(builder, none)
        with _sixteen_at_a_time(context, builder, (packed, entries), arguments) as (word, place):
            flags = builder.bitcast(word, _FLAGS)
            here = builder.select(flags, builder.load(place, align=4), none)
            builder.store(builder.add(builder.load(total), here), total)
        kind = ir.FunctionType(_NUMBERS.element, [_NUMBERS])
        name = f"llvm.vector.reduce.add.v{_LANES}i32"
        add_up = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(add_up, [builder.load(total)])

    _check_arrays(packed, entries)
    return types.int32(packed, types.intp, entries), generate


@intrinsic
def add_signs(_: Any, packed: Any, start: Any, sums: Any, turn: Any) -> Any:
    """Add 1 to sums[i] where bit i of packed[start:] is one, else -1; the other way round if `turn` is 1.

    packed (m,) of uint8, start int, sums (P,) of int32, P a multiple of 16, turn 0 or 1.
    """

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        plus, minus = (ir.Constant(_NUMBERS, [sign] * _LANES) for sign in (1, -1))
        turned = builder.trunc(builder.neg(arguments[3]), _WORD)  # all ones, or none
        with _sixteen_at_a_time(context, builder, (packed, sums), arguments) as (word, place):
            flags = builder.bitcast(builder.xor(word, turned), _FLAGS)
            more = builder.add(builder.load(place, align=4), builder.select(flags, plus, minus))
            builder.store(more, place, align=4)
        return context.get_dummy_value()

    _check_arrays(packed, sums)
    return types.void(packed, types.intp, sums, types.int64), generate


def _check_arrays(packed: Any, numbers: Any) -> None:
    """Refuse other arrays, and those with gaps, when a kernel is compiled: what follows reads straight on."""
    if (packed.dtype, numbers.dtype) != (types.uint8, types.int32):
        raise TypingError("bits are packed in uint8, and numbers are int32")
    if any(array.layout != "C" or array.ndim != 1 for array in (packed, numbers)):
        raise TypingError("bits and numbers must lie one after the other in memory")


@contextmanager
def _sixteen_at_a_time(context: Any, builder: Any, kinds: Any, arguments: Any) -> Iterator[tuple[Any, Any]]:
    """Open a loop over all of the numbers: yield sixteen bits, and where the sixteen numbers lie."""
    packed, numbers = (
        cgutils.create_struct_proxy(kind)(context, builder, value=arguments[place])
        for kind, place in zip(kinds, (0, 2), strict=True)
    )
    words = builder.bitcast(builder.gep(packed.data, [arguments[1]]), _WORD.as_pointer())
    places = builder.bitcast(numbers.data, _NUMBERS.as_pointer())
    size = builder.extract_value(numbers.shape, 0)
    with cgutils.for_range(builder, builder.udiv(size, ir.Constant(size.type, _LANES))) as loop:
        yield (
            builder.load(builder.gep(words, [loop.index]), align=1),
            builder.gep(places, [loop.index]),
        )

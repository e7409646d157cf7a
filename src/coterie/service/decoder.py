"""Decoding in a process of its own: `python -m coterie.service.decoder`, so that intake goes on meanwhile.

    in   the plan's canonical JSON, a newline, then the messages that its table adds up, back to back
    out  length of the result (8 bytes, big-endian), the result (JSON), the table

or, on stderr, one line that says why not, and exit code 3.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import CoterieError, DecodeError
from coterie.plan import Plan
from coterie.service.manifest import decoding_seed
from coterie.wire.layout import whole_rows

REFUSED: Final = 3  # exit code
_READ_BYTES: Final = 1 << 22


class Decoder:
    """Runs the decoding process, and can end it from another thread."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End what runs, and begin nothing more."""
        self._stopped = True
        child = self._child
        if child is not None and child.poll() is None:
            child.kill()

    def run(self, plan: Plan, chunks: Iterable[NDArray[np.uint8]], timeout: float) -> tuple[bytes, bytes]:
        """Return the result, JSON, and the table of messages, (m, width) at a time.

        Raises
        ------
        DecodeError
            If they cannot be decoded, or not in `timeout` seconds, or it was stopped.
        """
        command = [sys.executable, "-m", "coterie.service.decoder"]
        with subprocess.Popen(  # noqa: S603  # this interpreter, this package
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            self._child = child
            try:
                if self._stopped:
                    raise DecodeError("decoding was stopped; it begins anew when it is asked for")
                with contextlib.suppress(BrokenPipeError):  # it says why on stderr
                    _feed(child.stdin, plan, chunks)
                child.stdin = None
                out, err = child.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                raise DecodeError(f"decoding took more than {timeout:g} seconds and was given up") from None
            finally:
                if child.poll() is None:
                    child.kill()
        if self._stopped:
            raise DecodeError("decoding was stopped; it begins anew when it is asked for")
        if child.returncode == REFUSED:
            raise DecodeError(err.decode(errors="replace").strip())
        if child.returncode:
            raise RuntimeError(f"the decoder ended with code {child.returncode}")
        size = int.from_bytes(out[:8], "big")
        return out[8 : 8 + size], out[8 + size :]


def _feed(pipe: BinaryIO | Any, plan: Plan, chunks: Iterable[NDArray[np.uint8]]) -> None:
    try:
        pipe.write(plan.to_json().encode() + b"\n")
        for chunk in chunks:
            pipe.write(np.ascontiguousarray(chunk).tobytes())
    finally:
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def result_document(result: Any) -> bytes:
    """Return a result as JSON: `Result.to_dict()`, and in words each group, or everybody as one."""
    told = result.groups if result.supported else result.groups[:1]
    document = {**result.to_dict(), "words": [str(group) for group in told]}
    return json.dumps(_finite(document), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _finite(value: Any) -> Any:
    """Return the same with null for numbers that JSON has no word for."""
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cut_short() -> None:
    raise DecodeError("the reports were cut short")


def main() -> int:
    """Decode what comes in."""
    from coterie.aggregate import Aggregate
    from coterie.centers import decode
    from coterie.engines.inline import add_up

    os.nice(2)  # reports come first
    try:
        plan = Plan.from_json(sys.stdin.buffer.readline())
        table = Aggregate(plan)
        pieces = iter(lambda: sys.stdin.buffer.read(_READ_BYTES), b"")
        add_up(table, whole_rows(pieces, plan.message_width, _cut_short))
        result = result_document(decode(table, random_state=decoding_seed(plan)))
    except CoterieError as error:
        print(error, file=sys.stderr)
        return REFUSED
    sys.stdout.buffer.write(len(result).to_bytes(8, "big") + result + table.to_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())

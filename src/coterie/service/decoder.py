"""Decoding in a process of its own: `python -m coterie.service.decoder`, so that intake goes on meanwhile.

    in   a line of JSON, {"plan": …, "before": [sizes]}, then the tables of earlier waves of the study, of
         these sizes, then the messages that the plan's table adds up, back to back
    out  length of the result (8 bytes, big-endian), the result (JSON), the table

    in   {"next": what is asked of the next wave, "before": [sizes]}, and the tables of all waves so far
    out  the plan of the next wave, in canonical JSON

or, on stderr, one line that says why not, and exit code 3.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from coterie.errors import CoterieError, DecodeError
from coterie.plain.canonical import canonical_bytes, finite
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

    def run(
        self,
        plan: Plan,
        chunks: Iterable[NDArray[np.uint8]],
        timeout: float,
        before: Sequence[bytes] = (),
    ) -> tuple[bytes, bytes]:
        """Return the result, JSON, and the table of messages, (m, width) at a time.

        The result is of them together with the tables of earlier waves.

        Raises
        ------
        DecodeError
            If they cannot be decoded, or not in `timeout` seconds, or it was stopped.
        """
        pieces = itertools.chain(before, (np.ascontiguousarray(chunk).tobytes() for chunk in chunks))
        out = self._ask({"plan": plan.to_dict(), "before": [*map(len, before)]}, pieces, timeout)
        size = int.from_bytes(out[:8], "big")
        return out[8 : 8 + size], out[8 + size :]

    def next_plan(
        self, before: Sequence[bytes], asked: Mapping[str, Any], timeout: float
    ) -> tuple[Plan, str]:
        """Return the plan of the next wave after waves with these tables, and why it asks that.

        Raises
        ------
        DecodeError
            As for `run`, or if there is no such plan.
        """
        out = self._ask({"next": dict(asked), "before": [*map(len, before)]}, before, timeout)
        plan, _, why = out.partition(b"\n")
        return Plan.from_json(plan), why.decode()

    def _ask(self, head: Mapping[str, Any], pieces: Iterable[bytes], timeout: float) -> bytes:
        command = [sys.executable, "-m", "coterie.service.decoder"]
        with subprocess.Popen(  # noqa: S603  # this interpreter, this package
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as child:
            self._child = child
            try:
                if self._stopped:
                    raise DecodeError("decoding was stopped; it begins anew when it is asked for")
                with contextlib.suppress(BrokenPipeError):  # it says why on stderr
                    _feed(child.stdin, head, pieces)
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
        return out


def _feed(pipe: BinaryIO | Any, head: Mapping[str, Any], pieces: Iterable[bytes]) -> None:
    try:
        pipe.write(canonical_bytes(dict(head)) + b"\n")
        for piece in pieces:
            pipe.write(piece)
    finally:
        with contextlib.suppress(BrokenPipeError):
            pipe.close()


def result_document(result: Any) -> bytes:
    """Return a result as JSON: `Result.to_dict()`, and in words each group, or everybody as one."""
    words = [str(group) for group in result.groups if group.share]
    document = {**result.to_dict(), "words": words}
    return json.dumps(finite(document), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _cut_short() -> None:
    raise DecodeError("the reports were cut short")


def main() -> int:
    """Decode what comes in."""
    from coterie.aggregate import Aggregate
    from coterie.centers import decode
    from coterie.engines.inline import add_up
    from coterie.service.following import next_step

    os.nice(2)  # reports come first
    reads, writes = sys.stdin.buffer, sys.stdout.buffer
    try:
        head = json.loads(reads.readline())
        tables = [Aggregate.from_bytes(reads.read(size)) for size in head["before"]]
        if "next" in head:
            following, why = next_step(tables, head["next"])
            writes.write(f"{following.to_json()}\n{why}".encode())
            return 0
        plan = Plan.from_json(canonical_bytes(head["plan"]))
        table = Aggregate(plan)
        pieces = iter(lambda: reads.read(_READ_BYTES), b"")
        add_up(table, whole_rows(pieces, plan.message_width, _cut_short))
        result = result_document(decode([*tables, table], random_state=decoding_seed(plan)))
    except CoterieError as error:
        print(error, file=sys.stderr)
        return REFUSED
    writes.write(len(result).to_bytes(8, "big") + result + table.to_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())

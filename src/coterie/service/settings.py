"""Settings of the service: by flag, by environment, by a TOML file, in this order of precedence.

A setting `most_body` is `--set most_body=…` (the usual ones have flags of their own), the variable
`COTERIE_SERVE_MOST_BODY`, or the key `most_body` of the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, Self

from coterie.errors import SettingError
from coterie.plain.canonical import shown
from coterie.plain.files import read_bounded
from coterie.wire.signing import KEY_BYTES

ROLES: Final = ("collector", "shuffler")
PREFIX: Final = "COTERIE_SERVE_"
_MOST_FILE: Final = 1 << 20


_LEAST: Final = {  # of the numbers; of the others 1
    **dict.fromkeys(("port", "reports_per_second"), 0),
    **dict.fromkeys(("most_body", "most_header", "most_waiting"), 1024),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a service takes in, and when it looks after things. All times are seconds, all sizes bytes."""

    most_body: int = 1 << 20  # bytes of a request's body
    most_readers: int = 64  # who read a table, a result or a manifest at a time; more get 503
    most_waiting: int = 1 << 25  # bytes of reports that wait for the disk; more get 429
    most_reports: int = 1 << 36  # reports received per plan, repetitions included
    reports_per_second: int = 0  # reports taken in per second, 0 for any number; more get 429
    upkeep_seconds: float = 60  # between two looks at windows, compaction and retention
    compact_seconds: float = 3600  # between two compactions of an open study
    decode_seconds: float = 3600  # after which decoding is given up


USUAL: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """How a collector runs. All times are seconds, all sizes bytes.

    Examples
    --------
    >>> Settings.read({"data": "collected", "most_body": "4096"}, environment={}).most_body
    4096
    """

    data: Path | None = None  # folder of the embedded store, the operator's token and the key
    store: str | None = None  # address of the store, instead of the one in `data`
    role: str = "collector"  # what the service is: collector or shuffler
    shufflers: str = ""  # of a collector: public keys of its shufflers, in hex, with commas between them
    deliver_to: str = ""  # of a shuffler: address of the collector
    address: str = ""  # of a shuffler: its own, as devices know it; it signs that it mixes there
    issuers: str = ""  # of a shuffler: public keys of those who admit people; without any, anybody may send
    host: str = "127.0.0.1"  # address to listen on
    port: int = 8787  # port to listen on; 0 takes a free one
    token_file: Path | None = None  # file with the operator's token; default DATA/operator-token
    key_file: Path | None = None  # file with the Ed25519 key of manifests; default DATA/signing-key
    most_header: int = 1 << 14  # bytes of a request's line and headers
    most_connections: int = 1024  # connections at a time
    request_seconds: int = 30  # from the first byte of a request to its last
    answer_seconds: int = 10  # for which an answer waits until its next 64 KiB are taken
    idle_seconds: int = 30  # for which an idle connection is kept
    drain_seconds: int = 30  # for which a stopping server lets requests finish

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if type(each.default) is int):
            value, low = getattr(self, name), _LEAST.get(name, 1)
            if type(value) is not int or not low <= value < 1 << 63:
                raise SettingError(
                    f"the setting {name} must be an integer of at least {low}, got {shown(value)}"
                )
        if not 0 <= self.port < 1 << 16:
            raise SettingError(f"the setting port must be below 65536, got {self.port}")
        if self.role not in ROLES:
            raise SettingError(f"there is no role {shown(self.role)}; known: {', '.join(ROLES)}")
        if (self.role == "shuffler") != bool(self.deliver_to):
            raise SettingError("a shuffler, and only a shuffler, needs --deliver-to, a collector's address")
        if self.role == "shuffler" and self.shufflers:
            raise SettingError("shufflers are for a collector: a shuffler takes no batches")
        if self.role == "collector" and (self.address or self.issuers):
            raise SettingError("address and issuers are for a shuffler: a collector mixes nothing")
        for name, keys in (("shufflers", self.public_keys), ("issuers", self.issuer_keys)):
            if any(len(key) != KEY_BYTES for key in keys):
                raise SettingError(f"each of {name} is a public key of {2 * KEY_BYTES} hex digits")
        if self.data is None and self.store is None:
            raise SettingError("say where reports are kept: --data FOLDER, or --store postgresql://…")
        for name in ("token_file", "key_file"):
            if self.data is None and getattr(self, name) is None:
                raise SettingError(f"give --data FOLDER, or say where {name} is: there is no default")

    @property
    def public_keys(self) -> tuple[bytes, ...]:
        """The public keys of a collector's shufflers."""
        return _keys(self.shufflers)

    @property
    def issuer_keys(self) -> tuple[bytes, ...]:
        """The public keys of a shuffler's issuers."""
        return _keys(self.issuers)

    @property
    def store_address(self) -> str:
        """Where the reports are kept."""
        return self.store if self.store is not None else str(self._in_data("store"))

    @property
    def token_path(self) -> Path:
        """Where the operator's token is."""
        return self.token_file or self._in_data("operator-token")

    @property
    def key_path(self) -> Path:
        """Where the key of manifests is."""
        return self.key_file or self._in_data("signing-key")

    def _in_data(self, name: str) -> Path:
        return (self.data or Path()) / name

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Any],
        *,
        file: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Self:
        """Put settings together: flags before the environment before the file; None is not said.

        Raises
        ------
        SettingError
            If a setting is unknown, or its value is not of its kind.
        """
        environment = os.environ if environment is None else environment
        said = {} if file is None else _of_file(file)
        for name, value in environment.items():
            if name.startswith(PREFIX):
                said[name.removeprefix(PREFIX).lower()] = value
        said.update({name: value for name, value in flags.items() if value is not None})
        kinds = {each.name: each.default for each in fields(cls)}
        if unknown := sorted(set(said) - set(kinds)):
            raise SettingError(f"there is no setting {shown(unknown[0])}; known: {', '.join(sorted(kinds))}")
        return cls(**{name: _value(name, value, kinds[name]) for name, value in said.items()})


def _keys(text: str) -> tuple[bytes, ...]:
    try:
        return tuple(bytes.fromhex(key) for key in text.split(",") if key.strip())
    except ValueError:
        return (b"",)


def _of_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(read_bounded(path, _MOST_FILE, "settings").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{os.fspath(path)} is no TOML: {error}") from None


def _value(name: str, value: object, default: object) -> Any:
    if name in ("data", "token_file", "key_file") and isinstance(value, str | os.PathLike):
        return Path(value)
    if isinstance(default, int) and isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            raise SettingError(f"the setting {name} must be an integer, got {shown(value)}") from None
    if not isinstance(default, int) and not isinstance(value, str):
        raise SettingError(f"the setting {name} must be text, got {shown(value)}")
    return value

"""The tables of the PostgreSQL store, and how an older database becomes one of this version.

Reports lie packed, back to back in one value: what one commit brought (`incoming`), and what counts, sorted
by id, in blocks (`blocks`). A row per report would take four times the room, come in at half the speed, and
keep the order of arrival in the table's own order. No column holds a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coterie.errors import StoreError

if TYPE_CHECKING:
    from psycopg import Connection

SCHEMA_LOCK: Final = 0x636F7431  # one server migrates

# One step of the schema each; a database of version n has had the first n. Steps are never changed.
MIGRATIONS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE coterie.studies (
        number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        plan_id bytea NOT NULL UNIQUE,
        plan text NOT NULL,
        state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed', 'deleted')),
        received bigint NOT NULL DEFAULT 0,  -- as of the last compaction, like the counts that follow
        counted bigint NOT NULL DEFAULT 0,
        duplicates bigint NOT NULL DEFAULT 0,
        conflicting bigint NOT NULL DEFAULT 0,
        withdrawn bigint NOT NULL DEFAULT 0
    );
    CREATE TABLE coterie.incoming (
        study integer NOT NULL,  -- not by reference: that would lock the study's row in every commit
        number bigint GENERATED ALWAYS AS IDENTITY,
        kind smallint NOT NULL,  -- 1: reports, 2: ids withdrawn
        count integer NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (study, number)
    );
    CREATE TABLE coterie.blocks (
        study integer NOT NULL REFERENCES coterie.studies,
        kind smallint NOT NULL,  -- 1: reports that count, 2: ids withdrawn, 3: ids released
        number integer NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (study, kind, number)
    );
    ALTER TABLE coterie.incoming ALTER body SET STORAGE EXTERNAL;  -- random bytes do not compress
    ALTER TABLE coterie.blocks ALTER body SET STORAGE EXTERNAL;
    CREATE TABLE coterie.documents (
        study integer NOT NULL REFERENCES coterie.studies,
        name text NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (study, name)
    );
    CREATE TABLE coterie.invitations (
        study integer NOT NULL REFERENCES coterie.studies,
        mark bytea NOT NULL,
        PRIMARY KEY (study, mark)
    );
    """,
    """
    ALTER TABLE coterie.studies ADD released bigint NOT NULL DEFAULT 0;
    CREATE TABLE coterie.batches (
        study integer NOT NULL REFERENCES coterie.studies,
        digest text NOT NULL,
        piece integer NOT NULL,
        staged boolean NOT NULL,  -- made here and not acknowledged yet, or taken in
        body bytea NOT NULL,
        PRIMARY KEY (study, digest, piece)
    );
    ALTER TABLE coterie.batches ALTER body SET STORAGE EXTERNAL;
    """,
    "ALTER TABLE coterie.studies ADD handed text[] NOT NULL DEFAULT '{}';  -- digests of reports, by batch",
)


def migrate(connection: Connection[Any]) -> None:
    """Bring a database to this version, in one transaction; of several servers one does it.

    Raises
    ------
    StoreError
        If the database is of a newer version, or does not flush its commits to the disk.
    """
    (fsync,) = connection.execute("SELECT current_setting('fsync')").fetchone() or ("",)
    if fsync != "on":
        raise StoreError(
            "this PostgreSQL runs with fsync = off: it would lose reports that were acknowledged"
        )
    connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [SCHEMA_LOCK])
    (there,) = connection.execute("SELECT to_regnamespace('coterie') IS NOT NULL").fetchone() or (False,)
    if not there:  # "if not exists" would ask for the right to make one, which a role need not have
        connection.execute("CREATE SCHEMA coterie")
    connection.execute("CREATE TABLE IF NOT EXISTS coterie.version (version integer NOT NULL)")
    (version,) = connection.execute("SELECT max(version) FROM coterie.version").fetchone() or (None,)
    version = version or 0
    if version > len(MIGRATIONS):
        raise StoreError(
            f"the database has version {version} of the store's schema, this program knows up to "
            f"{len(MIGRATIONS)}; install a newer coterie"
        )
    for step in MIGRATIONS[version:]:
        connection.execute(step.encode())
    if version < len(MIGRATIONS):
        connection.execute("DELETE FROM coterie.version")
        connection.execute("INSERT INTO coterie.version VALUES (%s)", [len(MIGRATIONS)])

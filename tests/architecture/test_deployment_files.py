"""The container's files name settings, commands and packages that there are, all of them pinned."""

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from coterie.service.settings import PREFIX, Settings
from coterie.store import open_store
from tools import bill, image_locks

ROOT = Path(__file__).parents[2]
KNOWN = {each.name for each in fields(Settings)}
COMPOSE = (ROOT / "compose.yaml").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def settings_in(text):
    return {name.lower() for name in re.findall(rf"{PREFIX}([A-Z_]+)", text)}


def services():
    return yaml.safe_load(COMPOSE)["services"]


def test_the_compose_file_starts_what_there_is():
    found = services()
    assert set(found) == {"collector", "database"}
    assert found["collector"]["ports"] == [f"127.0.0.1:{Settings(data=Path('d')).port}:8787"]
    assert found["database"]["volumes"]
    assert "ports" not in found["database"]
    assert found["database"]["networks"] == ["inside"]
    assert yaml.safe_load(COMPOSE)["networks"]["inside"] == {"internal": True}


@pytest.mark.parametrize("name", ["collector", "database"])
def test_a_container_can_change_nothing_and_become_nobody(name):
    service = services()[name]
    assert service["read_only"] is True
    assert service["restart"] == "unless-stopped"
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"cap_add", "privileged", "pid", "network_mode"} & set(service)
    assert "/tmp" in service["tmpfs"]  # noqa: S108


def test_secrets_come_from_files_and_stand_nowhere_else():
    declared = yaml.safe_load(COMPOSE)["secrets"]
    assert all(each["file"].startswith("./secrets/") for each in declared.values())
    used = {name for service in services().values() for name in service["secrets"]}
    assert used == set(declared)
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|TOKEN|KEY|SECRET|STORE", name)
            assert not secret or (name.endswith("_FILE") and value.startswith("/run/secrets/")), name
    assert not re.search(r"postgresql://|COPY .*secrets", COMPOSE + DOCKERFILE)
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"/secrets/", ".env"} <= set(ignored)
    assert {"secrets", ".env"} <= set((ROOT / ".dockerignore").read_text(encoding="utf-8").split())


def test_the_script_makes_secrets_that_the_service_takes(tmp_path):
    for _ in range(2):
        subprocess.run([ROOT / "deploy/secrets.sh"], cwd=tmp_path, check=True)
        made = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    assert set(made) == {
        each["file"].rpartition("/")[2] for each in yaml.safe_load(COMPOSE)["secrets"].values()
    }
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    chosen = Settings.read({}, file=tmp_path / "secrets/collector.toml", environment={})
    assert made["coterie-password"] in chosen.store_address
    assert {str(chosen.token_path), str(chosen.key_path)} == {
        "/run/secrets/operator-token",
        "/run/secrets/signing-key",
    }
    assert re.fullmatch("[0-9a-f]{64}", made["signing-key"])
    assert len({*made.values()}) == len(made)


def test_images_are_named_by_digest_or_not_at_all():
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert bases == ["${PYTHON_IMAGE}"] * 2
    assert "ARG PYTHON_IMAGE\n" in DOCKERFILE  # without a default
    found = services()
    assert found["collector"]["build"]["args"]["PYTHON_IMAGE"].startswith("${PYTHON_IMAGE:?")
    assert found["database"]["image"].startswith("${POSTGRES_IMAGE:?")


def test_the_image_holds_what_is_locked_and_nothing_that_builds():
    assert settings_in(DOCKERFILE) == {"host", "data"}
    assert settings_in(DOCKERFILE) <= KNOWN
    build, final = re.split(r"^FROM \$\{PYTHON_IMAGE\}$", DOCKERFILE, flags=re.MULTILINE)
    installs = re.findall(r"pip[^&]*? install (.*?)(?: \\|$)", build, re.MULTILINE)
    assert [("--require-hashes" in each, "--no-deps" in each) for each in installs] == [
        (True, False),
        (True, False),
        (False, True),
    ]
    assert "--only-binary :all: -r locks/service.lock" in build
    assert " install " not in final.replace("install -d -o coterie", "")
    assert "pip uninstall --yes" in final
    assert 'ENTRYPOINT ["/opt/coterie/bin/coterie", "serve"]' in final
    assert "USER 10001" in final
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name


def test_the_locks_of_the_image_are_parts_of_the_lock():
    declared = image_locks.wanted()
    for name, requirements in declared.items():
        text = (ROOT / f"locks/{name}.lock").read_text(encoding="utf-8")
        assert text == image_locks.part_of(image_locks.needed(requirements))
    held = set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
    direct = {image_locks.canonical(re.match(r"[A-Za-z0-9._-]+", one)[0]) for one in declared["service"]}
    assert direct <= held
    assert held <= {image_locks.canonical(name) for name in bill.pins()}
    assert not held & {"hatchling", "pip", "setuptools", "wheel", "pytest", "mypy", "ruff", "pyspark"}


def test_the_role_of_the_database_owns_its_schema_and_nothing_else(postgres):
    import psycopg

    script = (ROOT / "deploy/role.sh").read_text(encoding="utf-8")
    statements = re.search(r"<<'SQL'\n(.*)SQL\n", script, re.DOTALL)[1]
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        tested = connection.info.server_version // 10_000
        connection.execute("DROP DATABASE IF EXISTS coterie")
        connection.execute("DROP ROLE IF EXISTS coterie")
        connection.execute("CREATE DATABASE coterie")
    with psycopg.connect(postgres.url("coterie"), autocommit=True) as connection:
        connection.execute(statements.replace(":'password'", "'secret'"))
    address = f"postgresql://coterie:secret@127.0.0.1:{postgres.port}/coterie"
    assert named_versions() == {str(tested)}
    with open_store(address) as store:
        assert store.plan_ids() == []
    with psycopg.connect(address, autocommit=True) as connection:
        for refused in (
            "CREATE SCHEMA mine",
            "CREATE TABLE public.mine (x integer)",
            "CREATE DATABASE mine",
            "CREATE ROLE mine",
            "COPY (SELECT 1) TO PROGRAM 'true'",
            "SELECT pg_read_file('/etc/passwd')",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(refused)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE coterie")
        connection.execute("DROP ROLE coterie")


def named_versions():
    """Every version of PostgreSQL that is named to operators."""
    names = ["Makefile", "docs/deploy.md", "docs/stores.md"]
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in names)
    return set(re.findall(r"(?:postgres:|PostgreSQL )([0-9]+)", text))


def test_every_setting_is_documented():
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    table = page[page.index("## Of a collector") : page.index("## Of the environment")]
    assert set(re.findall(r"`([a-z_]+)`", table)) - {"name=value"} >= KNOWN - {"role"}

"""The Dockerfile and the compose file name settings, commands and extras that there are."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import yaml

from coterie.service.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
KNOWN = {each.name for each in fields(Settings)}


def settings_in(text):
    return {name.lower() for name in re.findall(rf"{PREFIX}([A-Z_]+)", text)}


def test_the_compose_file_starts_what_there_is():
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    services = yaml.safe_load(text)["services"]
    assert set(services) == {"collector", "database"}
    assert settings_in(text) == {"store"}
    address = services["collector"]["environment"][f"{PREFIX}STORE"]
    assert address.startswith("postgresql://")
    assert services["collector"]["ports"] == [f"127.0.0.1:{Settings(data=Path('d')).port}:8787"]
    assert services["database"]["volumes"]


def test_the_dockerfile_installs_and_runs_what_there_is():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert settings_in(text) == {"host", "data"}
    assert settings_in(text) <= KNOWN
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = re.search(r"'\.\[([a-z,]+)\]'", text)[1].split(",")
    assert {"analyst", "service"} <= set(wanted) <= set(extras["optional-dependencies"])
    assert 'ENTRYPOINT ["/opt/coterie/bin/coterie", "serve"]' in text
    assert "USER coterie" in text
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name


def test_every_setting_is_documented():
    page = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    table = page[page.index("## Of a collector") : page.index("## Of the environment")]
    assert set(re.findall(r"`([a-z_]+)`", table)) - {"name=value"} >= KNOWN - {"role"}

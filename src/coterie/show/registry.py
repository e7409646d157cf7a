"""A study as an entry of the OpenDP registry of deployments, in that registry's own schema.

The registry (registry.opendp.org) takes one record a deployment, of three tiers: 1 says what it is and who
runs it, 2 adds what is promised and to whom, 3 how it is kept. What only people know (who publishes it, for
which region, when) is asked for, or comes from the study's sheet; everything else follows from the plan.
`check_entry` holds a record to the schema's fields, kinds and words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from coterie import __version__
from coterie.errors import SettingError
from coterie.plain.checks import checked_integer
from coterie.plan import Plan

TIERS: Final = (1, 2, 3)
_TEXT: Final = str
_TEXTS: Final = list
_MODELS: Final = {"local": "Local", "shuffle": "Shuffle", "central": "Central"}
_STATUSES: Final = frozenset(
    {
        *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
        *("Approved (Update Requested)", "Approved (Pending)"),
    }
)
_PRODUCTS: Final = frozenset(
    {
        *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
        *("Interactive API", "SQL queries"),
    }
)
_SECTORS: Final = frozenset({"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"})
_VARIANTS: Final = frozenset({"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"})

# Each field: its kind, or the words that it may be; a mapping is a part with fields of its own.
SCHEMA: Final[Mapping[str, Any]] = {
    "url_slug": _TEXT,
    "status": _STATUSES,
    "tier": frozenset(TIERS),
    "deployment": {
        "basic": {
            **dict.fromkeys(("name", "intended_use", "data_product_region", "description"), _TEXT),
            "data_curators": _TEXTS,
            "data_product_type": _PRODUCTS,
            "publication_date": date,
            "data_product_sector": _SECTORS,
        },
        "dp_variant": {
            "variant_name": _VARIANTS,
            **dict.fromkeys(("data_domain", "unprotected_quantities"), _TEXT),
        },
        "privacy_loss": {
            **dict.fromkeys(("privacy_unit", "privacy_unit_details", "privacy_parameters_details"), _TEXT),
            "privacy_parameters": dict.fromkeys(("epsilon", "delta", "rho"), float),
        },
        "deployment_model": {
            "model_name": frozenset({*_MODELS.values(), "Federated", "Varies"}),
            "release_type": frozenset({"One release", "Many releases"}),
            "data_source_type": frozenset({"Static", "Dynamic"}),
            "access_type": frozenset({"Interactive", "Non-interactive"}),
            **dict.fromkeys(("model_name_details", "actors", "release_type_details"), _TEXT),
            **dict.fromkeys(("data_source_type_details", "access_type_details"), _TEXT),
        },
        "accounting": dict.fromkeys(("post_processing", "composition"), _TEXT),
        "implementation": dict.fromkeys(
            ("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"), _TEXT
        ),
        "administrative": {"sources": _TEXT, "notes": _TEXT, "registry_authors": _TEXTS},
    },
}
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("url_slug", "status", "tier", "deployment"),
    "deployment": ("basic",),
    "deployment.basic": (
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "publication_date"),
    ),
    "deployment.administrative": ("registry_authors",),
}


def registry_entry(
    plan: Plan,
    *,
    curator: str,
    region: str,
    published: str,
    name: str = "",
    purpose: str = "",
    tier: int = 3,
) -> dict[str, Any]:
    """Return a plan's record for the registry, status "Draft".

    Parameters
    ----------
    plan : Plan
        What people answered.
    curator : str
        Who publishes what was found.
    region : str
        What region the people are of, or whose laws apply.
    published : str
        When, as YYYY-MM-DD.
    name, purpose : str
        What the study is called, and what it is for; said from the plan where empty.
    tier : {1, 2, 3}
        How much to tell.

    Examples
    --------
    >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=100)
    >>> entry = registry_entry(plan, curator="A university", region="EU", published="2026-05-01")
    >>> entry["deployment"]["privacy_loss"]["privacy_parameters"], entry["tier"]
    ({'epsilon': 1.0}, 3)
    """
    level = checked_integer("tier", tier, TIERS[0], TIERS[-1])
    kind = _asked(plan)
    deployment: dict[str, Any] = {
        "basic": {
            "name": name or f"Groups of people, study {plan.study_id[:12]}",
            "data_curators": [curator],
            "description": f"{kind}, with intervals, from one private report a person.",
            "intended_use": purpose or f"To learn {kind[:1].lower()}{kind[1:]}.",
            "data_product_type": "Summary statistics",
            "data_product_region": region,
            "publication_date": published,
        },
        "administrative": {
            "registry_authors": [curator],
            "notes": f"Plan {plan.id}; coterie {__version__} filled in this record from the plan.",
        },
    }
    if level > 1:
        deployment |= _promised(plan)
    if level > 2:
        for part, more in _kept(plan).items():
            deployment[part] = {**deployment.get(part, {}), **more}
    entry = {
        "url_slug": f"coterie_{plan.study_id[:12]}",
        "status": "Draft",
        "tier": level,
        "deployment": deployment,
    }
    check_entry(entry)
    return entry


def _asked(plan: Plan) -> str:
    verb = "What other people confirm of" if plan.confirms else "Centers and shares of"
    features = "" if plan.features is None else f" ({', '.join(f.name for f in plan.features.features)})"
    return f"{verb} {plan.clusters} groups of people in {plan.dimension} coordinates{features}"


def _promised(plan: Plan) -> dict[str, Any]:
    spent = {"epsilon": plan.epsilon} if plan.delta == 0 else {"epsilon": plan.epsilon, "delta": plan.delta}
    return {
        "dp_variant": {"variant_name": "Pure DP" if plan.delta == 0 else "Approximate DP"},
        "privacy_loss": {"privacy_unit": plan.guarantee.unit, "privacy_parameters": spent},
        "deployment_model": {
            "model_name": _MODELS[plan.model],
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
    }


def _kept(plan: Plan) -> dict[str, Any]:
    promise = plan.guarantee
    held = "\n".join(f"- {each}" for each in promise.conditions)
    earlier = f" It was designed from results of the plans {', '.join(plan.after)}." if plan.after else ""
    return {
        "dp_variant": {
            "data_domain": f"One point of {plan.dimension} coordinates a person, in a public ball of radius "
            f"{plan.radius:g}; points outside are drawn to its surface.",
            "unprotected_quantities": "How many people answered, who did where ids follow from tokens, and "
            "each report's random id. The plan is public.",
        },
        "privacy_loss": {
            "privacy_unit_details": "Neighbours differ in one person's point, replaced by any other. A "
            "person answers one plan of the study once, which a ledger on the device keeps.",
            "privacy_parameters_details": f"The mechanism spends {promise.spent!r} of epsilon "
            f"{plan.epsilon!r}. It holds when:\n{held}",
        },
        "deployment_model": {
            "model_name_details": " ".join(promise.paragraphs[2:]),
            "actors": "Each person's device, which randomizes and need trust nobody else"
            + (" but the shuffler" if plan.mixed else " but a curator" if plan.curated else "")
            + "; the collector, who sees reports; everybody, who may see tables and results.",
            "release_type_details": "Everyone answers once; tables and results are post-processing.",
            "access_type_details": "Tables are private by themselves and may be decoded at will.",
        },
        "accounting": {
            "post_processing": "Decoding of the table: a population that explains it, k centers, intervals.",
            "composition": "One report a person and study. Other studies add up, by the device's ledger.",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": "None on the data: ball and features are declared "
            f"beforehand.{earlier}",
            "mechanisms": f"Protocol {plan.protocol} of coterie {__version__}, {plan.report_width} bytes a "
            "report. Randomness is the operating system's; points are rounded to integers first and every "
            "probability is an exact ratio of integers, so that floating point plays no part.",
            "justification": f"Planned for {plan.expected_users:,} people by the forecast.",
        },
    }


def check_entry(entry: object) -> None:
    """Hold a record to the registry's schema: its fields and no others, their kinds and their words.

    Raises
    ------
    SettingError
        If it does not keep to it, with the field's name.
    """
    _check(entry, SCHEMA, "")


def _check(given: object, kind: Any, where: str) -> None:
    if isinstance(kind, Mapping):
        if not isinstance(given, dict):
            raise SettingError(f"registry entry: {where or 'it'} must be an object")
        for name in _REQUIRED.get(where, ()):
            if name not in given:
                raise SettingError(f"registry entry: {where}.{name} is missing".replace(" .", " "))
        for name, value in given.items():
            if name not in kind:
                raise SettingError(f"registry entry: {where} has no field {name!r}")
            _check(value, kind[name], f"{where}.{name}".lstrip("."))
        return
    if isinstance(kind, frozenset):
        good = not isinstance(given, bool) and given in kind
    elif kind is float:
        good = isinstance(given, int | float) and not isinstance(given, bool)
    elif kind is date:
        good = isinstance(given, str) and _is_date(given)
    elif kind is _TEXTS:
        good = isinstance(given, list) and bool(given) and all(isinstance(each, str) for each in given)
    else:
        good = isinstance(given, str)
    if not good:
        words = f"one of {', '.join(map(str, sorted(kind)))}" if isinstance(kind, frozenset) else "its kind"
        raise SettingError(f"registry entry: {where} must be {'a date' if kind is date else words}")


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False

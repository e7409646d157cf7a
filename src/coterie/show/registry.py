"""A study as an entry of the OpenDP registry of deployments, in that registry's own schema.

The registry (registry.opendp.org) takes one record a deployment, of three tiers: 1 says what it is and who
runs it, 2 adds what is promised and to whom, 3 how it is kept. What only people know (who publishes it, for
which region, when) is asked for, or comes from the study's sheet; everything else follows from the plan.
A test holds every record to the schema's fields, kinds and words.
"""

from __future__ import annotations

from datetime import date
from typing import Any, Final

from coterie import __version__
from coterie.errors import SettingError
from coterie.plain.checks import checked_integer
from coterie.plan import Plan

TIERS: Final = (1, 2, 3)
_MODELS: Final = {"local": "Local", "shuffle": "Shuffle", "central": "Central"}


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
    try:
        day = date.fromisoformat(published).isoformat()
    except ValueError:
        day = ""
    if day != published:
        raise SettingError("registry entry: publication_date must be a date, as 2026-05-01")
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
    return {
        "url_slug": f"coterie_{plan.study_id[:12]}",
        "status": "Draft",
        "tier": level,
        "deployment": deployment,
    }


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

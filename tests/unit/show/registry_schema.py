"""The schema of the OpenDP registry of deployments, and what holds a record to it."""

import re
from collections.abc import Mapping
from datetime import date

TIERS = (1, 2, 3)
_TEXT = str
_TEXTS = list
_MODELS = {"Local", "Shuffle", "Central"}
_STATUSES = frozenset(
    {
        *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
        *("Approved (Update Requested)", "Approved (Pending)"),
    }
)
_PRODUCTS = frozenset(
    {
        *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data"),
        *("Interactive API", "SQL queries"),
    }
)
_SECTORS = frozenset({"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"})
_VARIANTS = frozenset({"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"})

# Each field: its kind, or the words that it may be; a mapping is a part with fields of its own.
SCHEMA = {
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
            "model_name": frozenset({*_MODELS, "Federated", "Varies"}),
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
_REQUIRED = {
    "": ("url_slug", "status", "tier", "deployment"),
    "deployment": ("basic",),
    "deployment.basic": (
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "publication_date"),
    ),
    "deployment.administrative": ("registry_authors",),
}


def check_entry(entry):
    """Hold a record to the registry's schema: its fields and no others, their kinds and their words.

    Raises
    ------
    ValueError
        If it does not keep to it, with the field's name.
    """
    _check(entry, SCHEMA, "")


def _check(given, kind, where):
    if isinstance(kind, Mapping):
        if not isinstance(given, dict):
            raise ValueError(f"registry entry: {where or 'it'} must be an object")
        for name in _REQUIRED.get(where, ()):
            if name not in given:
                raise ValueError(f"registry entry: {where}.{name} is missing".replace(" .", " "))
        for name, value in given.items():
            if name not in kind:
                raise ValueError(f"registry entry: {where} has no field {name!r}")
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
        raise ValueError(f"registry entry: {where} must be {'a date' if kind is date else words}")


def _is_date(text):
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False

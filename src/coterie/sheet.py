"""The sheet of a study: who asks, and why, in people's words; signed, beside a plan that stays frozen.

    {"format": "coterie-sheet", "version": 1, "plan_id": …,
     "language": "en",                                    whose words are shown to those who read no other
     "pages": [["age", "plan"], ["hour"]],                every feature that is asked for, once, in order
     "languages": {"en": {"title": …, "purpose": …, "who": …, "contact": …, "consent": …,
                          "skip": "", "other": "",        for "Prefer not to say" and "Something else"
                          "pages": ["About you", …],      a title for each page, or none at all
                          "questions": {"age": {"ask": "How old are you?", "help": "",
                                                "answers": {}}}}},
     "public_key": …, "signature": …}

A plan says what is asked; the sheet says how, and never what: it names the plan's features and values and
cannot add one. Whatever one language words, all do. The signature (`wire/signing.py`) is under the canonical
JSON of all other fields, by the key that signs the collector's manifests. A draft, TOML or JSON, may leave
out what has a default (`draft_sheet`).
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from coterie.errors import PlanError, SheetError
from coterie.features import Category, Cycle, Embedding, Feature, Flag, Ordinal
from coterie.features.feature import checked_text
from coterie.plain.canonical import canonical_bytes, parse_object, shown
from coterie.plain.checks import checked_choice, checked_fields, checked_integer, checked_list, checked_match
from coterie.plain.files import read_bounded
from coterie.plan import Plan
from coterie.wire.signing import is_signed, signed_document

FORMAT: Final = "coterie-sheet"
VERSION: Final = 1
MOST_BYTES: Final = 1 << 18
MOST_LANGUAGES: Final = 24
MOST_NAMED: Final = 60  # numbers of a cycle that answers can name

_LABEL: Final = "coterie/1/sheet"
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-[A-Z]{2})?")  # of BCP 47: en, pt-BR, zh-Hant
_UNSIGNED: Final = ("format", "version", "plan_id", "language", "pages", "languages")
_LINES: Final = {"purpose": 4000, "who": 1000, "contact": 1000, "consent": 20_000}  # texts of several lines
_TITLE, _ASK, _HELP, _ANSWER = 200, 300, 1000, 200  # code points
_QUESTION: Final = {"ask": "", "help": "", "answers": {}}
_WORDING: Final = {"skip": "", "other": "", "pages": (), "questions": {}}


# ---------------------------------------------------------------- what a sheet must be


def checked_sheet(data: object, plan: Plan) -> dict[str, Any]:
    """Return a sheet, unsigned, if it is one of this plan: every field and no other.

    Raises
    ------
    SheetError
        Which says what is wrong, where, and what was expected.
    """
    try:
        return _checked(data, plan)
    except PlanError as error:
        raise SheetError(f"this is no sheet of the plan: {error}") from None


def _checked(data: object, plan: Plan) -> dict[str, Any]:
    fields = checked_fields("sheet", data, _UNSIGNED)
    if fields["format"] != FORMAT:
        raise PlanError(f"format must be {FORMAT}, got {shown(fields['format'])}")
    checked_integer("version", fields["version"], VERSION, VERSION)
    if fields["plan_id"] != plan.id:
        raise PlanError(f"plan_id must be that of the plan, {plan.id}")
    asked = {feature.name: feature for feature in _asked(plan)}
    pages = [
        list(checked_list(f"pages[{i}]", page))
        for i, page in enumerate(checked_list("pages", fields["pages"]))
    ]
    named = [name for page in pages for name in page]
    if not all(isinstance(name, str) for name in named) or sorted(named) != sorted(asked) or not all(pages):
        raise PlanError("pages must name each feature that is asked for once, and none may be empty")
    languages = fields["languages"]
    if not isinstance(languages, Mapping) or not 1 <= len(languages) <= MOST_LANGUAGES:
        raise PlanError(f"languages must hold 1 to {MOST_LANGUAGES} of them")
    words = {
        checked_match("languages", tag, _LANGUAGE): _wording(f"languages.{tag}", each, asked, len(pages))
        for tag, each in languages.items()
    }
    checked_choice("language", fields["language"], words)
    if len({str(_outline(each)) for each in words.values()}) > 1:
        raise PlanError("what one language words all must: the same pages, questions, helps and answers")
    return {**fields, "pages": pages, "languages": words}


def _wording(where: str, data: object, asked: Mapping[str, Feature], pages: int) -> dict[str, Any]:
    fields = checked_fields(where, data, ("title", *_LINES, *_WORDING))
    titles = checked_list(f"{where}.pages", fields["pages"])
    if len(titles) not in (0, pages):
        raise PlanError(f"{where}.pages must have a title for each of {pages} pages, or none")
    questions = fields["questions"]
    if not isinstance(questions, Mapping):
        raise PlanError(f"{where}.questions must be by the names of features")
    if unknown := sorted(map(str, questions.keys() - asked.keys())):
        raise PlanError(f"{where}.questions has {shown(unknown[0])}, which is no feature that is asked for")
    return {
        "title": checked_text(f"{where}.title", fields["title"], _TITLE),
        **{name: _lines(f"{where}.{name}", fields[name], most) for name, most in _LINES.items()},
        **{
            name: checked_text(f"{where}.{name}", fields[name], _ANSWER, least=0)
            for name in ("skip", "other")
        },
        "pages": [checked_text(f"{where}.pages[{i}]", title, _TITLE) for i, title in enumerate(titles)],
        "questions": {
            name: _question(f"{where}.questions.{name}", each, asked[name])
            for name, each in questions.items()
        },
    }


def _question(where: str, data: object, feature: Feature) -> dict[str, Any]:
    fields = checked_fields(where, data, _QUESTION)
    answers, known = fields["answers"], _values(feature)
    if not isinstance(answers, Mapping) or (
        answers and (answers.keys() != set(known) or len(known) > len(set(known)))
    ):
        listed = f"a text for each of {', '.join(map(shown, known[:8]))}, or for none" if known else "empty"
        raise PlanError(f"{where}.answers must be {listed}")
    return {
        "ask": checked_text(f"{where}.ask", fields["ask"], _ASK),
        "help": checked_text(f"{where}.help", fields["help"], _HELP, least=0),
        "answers": {
            value: checked_text(f"{where}.answers", text, _ANSWER) for value, text in answers.items()
        },
    }


def _outline(wording: Mapping[str, Any]) -> object:
    """Return what a language words, without the words."""
    questions = {
        name: (bool(each["help"]), bool(each["answers"])) for name, each in wording["questions"].items()
    }
    return sorted(questions.items()), len(wording["pages"])


def _values(feature: Feature) -> list[str]:
    """Return what may be worded of a feature: its values as JSON names them; of a cycle its whole numbers."""
    if isinstance(feature, Flag):
        return ["true", "false"]
    if isinstance(feature, Category):
        return [str(value) for value in feature.values]
    if isinstance(feature, Ordinal):
        return [str(level) for level in feature.levels]
    if isinstance(feature, Cycle) and feature.period <= MOST_NAMED and feature.period == int(feature.period):
        return [str(number) for number in range(int(feature.period))]
    return []


def _asked(plan: Plan) -> list[Feature]:
    """Return the features that a form can ask for."""
    features = () if plan.features is None else plan.features.features
    return [feature for feature in features if not isinstance(feature, Embedding)]


def _lines(where: str, value: object, longest: int) -> str:
    """Return a text of several lines."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest:
        raise PlanError(f"{where} must be a text of 1 to {longest} characters")
    for line in value.split("\n"):
        checked_text(where, line, longest, least=0)
    return value


# ---------------------------------------------------------------- drafts and signatures


def draft_sheet(path: str | os.PathLike[str], plan: Plan) -> dict[str, Any]:
    """Read a draft, `.toml` or else JSON, and return the sheet, unsigned.

    A draft names languages; format, version and plan_id are added, `pages` is one page of all questions and
    `language` the first language unless it says otherwise, and what a language leaves out stays the plan's.

    Raises
    ------
    SheetError
        If it is no draft of a sheet, or does not fit the plan.

    Examples
    --------
    >>> from coterie.features import Number
    >>> plan = Plan.design(features=[Number("age", 17, 90)], clusters=1, epsilon=1.0, expected_users=9)
    >>> _ = Path("sheet.toml").write_text('''
    ... [languages.en]
    ... title = "How people listen"
    ... purpose = "To plan the programme of the night."
    ... who = "Radio Example"
    ... contact = "study@radio.example"
    ... consent = "Taking part is voluntary."
    ... questions.age.ask = "How old are you?"
    ... ''')
    >>> draft_sheet("sheet.toml", plan)["pages"]
    [['age']]
    """
    try:
        data = read_bounded(path, MOST_BYTES, "a sheet")
        toml = Path(path).suffix.lower() == ".toml"
        given = tomllib.loads(data.decode("utf-8")) if toml else parse_object(data, "a sheet")
    except (PlanError, ValueError, RecursionError) as error:  # UTF-8 and TOML raise ValueErrors
        raise SheetError(f"{path}: {error}") from None
    languages = given.get("languages")
    filled = {
        "format": FORMAT,
        "version": VERSION,
        "plan_id": plan.id,
        "language": next(iter(languages), "") if isinstance(languages, dict) else "",
        "pages": [[feature.name for feature in _asked(plan)]] if _asked(plan) else [],
        **given,
    }
    if isinstance(languages, dict):
        filled["languages"] = {tag: _filled_wording(each) for tag, each in languages.items()}
    return checked_sheet(filled, plan)


def _filled_wording(data: object) -> object:
    if not isinstance(data, dict):
        return data
    filled = {**_WORDING, **data}
    if isinstance(filled["questions"], dict):
        filled["questions"] = {
            name: {**_QUESTION, **each} if isinstance(each, dict) else each
            for name, each in filled["questions"].items()
        }
    return filled


def sign_sheet(sheet: Mapping[str, Any], key: bytes) -> bytes:
    """Return a sheet with the signature of a secret key, canonical JSON."""
    return signed_document(sheet, key, _LABEL)


def is_signed_sheet(data: bytes) -> bool:
    """Return whether this is meant to be a signed sheet, whose signature is to be checked, and no draft."""
    try:
        return "signature" in parse_object(data, "a sheet")
    except PlanError:
        return False


def read_sheet(data: bytes, plan: Plan, key: str | None = None) -> dict[str, Any]:
    """Read a signed sheet of a plan, and check its signature and all of it.

    Parameters
    ----------
    data : bytes
        The sheet.
    plan : Plan
        The plan that it must be of.
    key : str, optional
        The public key that must have signed it, 64 hex digits.

    Raises
    ------
    SheetError
        If it is no sheet of this plan, or not signed by its key, or by another key than `key`.
    """
    try:
        fields = checked_fields(
            "sheet", parse_object(data, "a sheet"), (*_UNSIGNED, "public_key", "signature")
        )
        unsigned = canonical_bytes({name: value for name, value in fields.items() if name != "signature"})
        public, signature = bytes.fromhex(fields["public_key"]), bytes.fromhex(fields["signature"])
    except (TypeError, ValueError) as error:  # half a surrogate pair has no canonical form, say
        raise SheetError(f"this is no signed sheet: {error}") from None
    if not is_signed(public, signature, _LABEL, unsigned):
        raise SheetError("the signature does not fit: the sheet was changed")
    if key is not None and key.lower() != public.hex():
        raise SheetError(f"signed by {public.hex()}, not by {shown(key)}")
    checked_sheet({name: fields[name] for name in _UNSIGNED}, plan)
    return dict(fields)


# ---------------------------------------------------------------- whose language


def chosen_language(sheet: Mapping[str, Any], wanted: str) -> str:
    """Return the language of a sheet that suits an Accept-Language header best (RFC 4647, lookup).

    Examples
    --------
    >>> sheet = {"language": "en", "languages": {"en": {}, "de": {}, "pt-BR": {}}}
    >>> [chosen_language(sheet, each) for each in ("de-AT, en;q=0.5", "pt, en;q=0.1", "fr, *;q=0.1", "")]
    ['de', 'pt-BR', 'en', 'en']
    """
    ranges = []
    for place, part in enumerate(wanted[:1000].split(",")):
        tag, _, weight = part.strip().partition(";")
        found = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight)
        ranges.append((-(float(found[1]) if found else 1.0), place, tag.strip().lower()))
    known: dict[str, str] = {tag.lower(): tag for tag in sheet["languages"]}
    for quality, _, tag in sorted(ranges):
        if not tag or not quality:
            continue
        parts = tag.split("-")
        for length in range(len(parts), 0, -1):
            if (shorter := "-".join(parts[:length])) in known:
                return known[shorter]
        for other in sorted(known):  # "pt" is served by "pt-br"
            if other.startswith(f"{tag}-"):
                return known[other]
    return str(sheet["language"])

import json

import pytest

from coterie.errors import PlanError
from coterie.plain.canonical import MAX_BYTES, canonical_bytes, parse_object


def test_rfc_8785_numbers_and_order():
    value = {"parameters": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27, 1.0, -0.0], "literals": [None, True]}
    assert canonical_bytes(value) == (
        b'{"literals":[null,true],"parameters":[333333333.3333333,1e+30,4.5,0.002,1e-27,1,0]}'
    )


def test_integers_stay_integers_and_large_ones_become_doubles():
    parsed = parse_object('{"a": 9007199254740991, "b": 9007199254740992, "c": 100000000000000000000}')
    assert parsed == {"a": 2**53 - 1, "b": 2.0**53, "c": 1e20}
    assert [type(value) for value in parsed.values()] == [int, float, float]


def test_reads_utf_8_bytes():
    assert parse_object(b'{"a": "\xc3\xa9"}') == {"a": "é"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "key 'a' appears more than once"),
        ('{"x": {"b": 1, "c": 2, "b": 1}}', "key 'b' appears more than once"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "does not fit a double"),
        ('{"a": ' + "1" * 5000 + "}", "at most 32 characters"),
        ('{"a": 0.' + "1" * 5000 + "}", "at most 32 characters"),
        ("[" * 100_000, "nested deeper than 8"),
        ('{"a": [[[[[[[[1]]]]]]]]}', "nested deeper than 8"),
        ("[1]", "a plan is a JSON object, got a JSON list"),
        ("", "not JSON at character 0"),
        ('{"a": 1} x', "not JSON at character 9"),
        ('{"a": 01}', "not JSON"),
        ("\ufeff{}", "not JSON at character 0"),
        (b"\xff{}", "UTF-8 text; byte 0"),
        (" " * (MAX_BYTES + 1), "at most 4194304 bytes"),
        (7, "read from str or bytes, got int"),
    ],
)
def test_refuses(text, message):
    with pytest.raises(PlanError, match=message):
        parse_object(text)


def test_brackets_inside_strings_are_no_nesting():
    text = json.dumps({"a": '[[[[[[[[[["' * 3, "b": "\\"})
    assert parse_object(text)["b"] == "\\"


def test_a_foreign_key_is_shown_shortened_and_printable():
    key = json.dumps("\x1b[31m" + "x" * 1000)
    with pytest.raises(PlanError, match="more than once") as caught:
        parse_object(f"{{{key}: 1, {key}: 2}}")
    assert len(str(caught.value)) < 120
    assert str(caught.value).replace("…", "").isascii()
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("text", ['{"' + '\\"' * 1_000_000, '{"' + "\\" * 2_000_001, '"' * 2_000_001])
def test_strings_that_never_end_take_no_longer_than_others(text):
    # Seconds at most; a scan that starts again at every quote would take hours.
    with pytest.raises(PlanError, match="not JSON at character"):
        parse_object(text)

"""JSON with exact numbers: no number passes through a binary fraction."""

import json
from decimal import Decimal
from typing import Any


def _to_decimal(value: Any) -> Any:
    if type(value) is int:
        return Decimal(value)
    return [_to_decimal(one) for one in value] if isinstance(value, list) else value


def parse_exact(text: str | bytes, integers: frozenset[str]) -> Any:
    """Read JSON. Members of `integers` are `int`, all other numbers are `Decimal`."""

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value if name in integers else _to_decimal(value) for name, value in pairs}

    return json.loads(text, parse_float=Decimal, object_pairs_hook=read_object)


def decimal_text(value: Decimal) -> str:
    """Return the text of a decimal without an exponent. Raises ValueError for NaN and infinity."""
    if not value.is_finite():
        raise ValueError(f"{value} is not a number of JSON.")
    exponent = value.as_tuple().exponent
    return str(value) if abs(int(exponent)) > 400 else format(value, "f")


def write_exact(value: Any) -> str:
    """Write JSON. Raises TypeError for a `float`, because its decimal digits are unknown."""
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, float):
        raise TypeError(f"{value} is a binary fraction. Write it as Decimal('{value}').")
    if isinstance(value, dict):
        members = (f"{json.dumps(str(name), ensure_ascii=False)}:{write_exact(one)}" for name, one in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(write_exact(one) for one in value) + "]"
    return json.dumps(value, ensure_ascii=False)

"""JSON for hooks and sync: the C part of the standard library's `json` without its Python part.

`import json` loads `re`, `enum`, `functools` and `collections`: 10 of the 20 ms of `import json, re`. The scanner and
the encoders are those that `json` uses. If an interpreter lacks them, or their interface differs, `json` itself is
used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Union

    Scan = Callable[[str, int], tuple[Any, int]]
    Pairs = Callable[[list[tuple[str, Any]]], Any]

# How the scanner refuses: no value, or, up to Python 3.11 and without `json` to raise its error, invalid text.
_SCAN_ERRORS = (StopIteration, SystemError)
_WHITESPACE = " \t\n\r"
_CONSTANTS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _ScannerContext:
    """The attributes that the scanner reads; the values are those of `json.JSONDecoder`."""

    strict = True
    object_hook = None
    parse_float = float
    parse_int = int
    parse_constant = _CONSTANTS.__getitem__

    def __init__(self, pairs: Optional[Pairs] = None) -> None:
        self.object_pairs_hook = pairs
        self.memo: dict[str, str] = {}


def _make_c_scanner(pairs: Optional[Pairs]) -> Scan:
    from _json import make_scanner

    scan: Any = make_scanner(_ScannerContext(pairs))  # type: ignore[arg-type]
    return scan  # type: ignore[no-any-return]


def _make_python_scanner(pairs: Optional[Pairs]) -> Scan:
    import json

    decoder: Any = json.JSONDecoder(object_pairs_hook=pairs)
    return decoder.scan_once  # type: ignore[no-any-return]


def _make_c_encoder() -> Callable[[Any], str]:
    from _json import encode_basestring, make_encoder

    write: Any = make_encoder(None, _reject_value, encode_basestring, None, ":", ",", False, False, True)
    return lambda value: "".join(write(value, 0))


def _reject_value(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} has no form in JSON")


quote: Callable[[str], str]
encode: Callable[[Any], str]
try:
    from _json import encode_basestring

    quote = encode_basestring
    encode = _make_c_encoder()
    _scanner = _make_c_scanner
    _scan = _scanner(None)
    _scan(encode({"a": [1.5, None]}), 0)
except Exception:  # PyPy, or a future Python
    import json

    quote = json.JSONEncoder(ensure_ascii=False).encode
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    _scanner = _make_python_scanner
    _scan = _scanner(None)


def dumps(value: Any) -> bytes:
    """Encode a value compactly as UTF-8; escape lone surrogates, which UTF-8 cannot encode."""
    return encode(value).encode("utf-8", "backslashreplace")


def raw_decode(text: str) -> tuple[Any, int]:
    """Return the value at the beginning of a text and its end; raise ValueError if there is no value."""
    try:
        return _scan(text, 0)
    except _SCAN_ERRORS:
        raise ValueError("no JSON value") from None


def loads(data: Union[str, bytes], pairs: Optional[Pairs] = None) -> Any:
    """Parse JSON as `json.loads` does; bytes must be UTF-8. `pairs` is the `object_pairs_hook`."""
    text = (data if isinstance(data, str) else data.decode("utf-8")).strip(_WHITESPACE)
    try:
        value, end = (_scan if pairs is None else _scanner(pairs))(text, 0)
    except _SCAN_ERRORS:
        raise ValueError("no JSON value") from None
    if end != len(text):
        raise ValueError("more than one JSON value")
    return value

"""Provide `NamedTuple` without `typing`, which loads `re`, `enum` and `contextlib`: 10 ms."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

    class _Fields(type):
        """Create a named tuple from a class body: annotations are its fields, assigned values their defaults."""

        def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, object]) -> type:
            fields = list(body["__annotations__"])  # a class without annotations is invalid
            given = [field for field in fields if field in body]
            if given != fields[len(fields) - len(given) :]:
                raise TypeError(f"{name}: a field with a default stands before one without")
            defaults = [body.pop(field) for field in given]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    NamedTuple = type.__new__(_Fields, "NamedTuple", (), {})

__all__ = ["NamedTuple"]

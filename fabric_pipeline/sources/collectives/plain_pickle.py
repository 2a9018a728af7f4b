"""Plain data out of a pickle without ever running it: no import, no call, no object of any class.

Python's own unpickler is not used. The codes are listed by `pickletools.genops`, which executes nothing,
and only those that build what JSON could hold are followed; any other code refuses the whole file.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any

# A dump of 20,000 collectives with their stacks is some 20 MiB and 3 million codes.
MAX_BYTES = 64 << 20
MAX_CODES = 8_000_000
MAX_MEMO = 2_000_000
MAX_VALUES = 20_000_000  # with shared parts counted each time: what a program that walks it visits
MAX_DEPTH = 32
_MAX_INT = 1 << 64


class NotPlainError(Exception):
    """The pickle is not read; the text says why, for a person."""


_MARK = object()
_TEXTS = {
    "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "STRING", "BINSTRING", "SHORT_BINSTRING",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
}  # fmt: skip
_NUMBERS = {"BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_CODES = {
    "GLOBAL": "names a class or function", "STACK_GLOBAL": "names a class or function", "INST": "makes an object of a class",
    "OBJ": "makes an object of a class", "NEWOBJ": "makes an object of a class", "NEWOBJ_EX": "makes an object of a class",
    "REDUCE": "calls a function", "BUILD": "sets the state of an object", "PERSID": "refers to an object outside",
    "BINPERSID": "refers to an object outside", "EXT1": "names a registered class", "EXT2": "names a registered class",
    "EXT4": "names a registered class",
}  # fmt: skip
_ADVICE = "drop the dump written as JSON instead"


def plain_data(data: bytes) -> Any:
    """The value of a pickle as JSON would hold it: tuples are lists, keys are texts.

    Raises NotPlainError for anything else than plain data, for damage, and beyond the limits.
    """
    if len(data) > MAX_BYTES:
        raise NotPlainError(f"a pickle of more than {MAX_BYTES} bytes, not opened; {_ADVICE}")
    machine = _Machine()
    try:
        for count, (code, argument, _) in enumerate(pickletools.genops(data)):
            if count >= MAX_CODES:
                raise NotPlainError(f"a pickle of more than {MAX_CODES} codes; {_ADVICE}")
            machine.follow(code.name, argument)
    except NotPlainError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, AttributeError):
        raise NotPlainError("a pickle that is cut or damaged; copy it again completely") from None
    _check_size(machine.result())
    return machine.result()


class _Machine:
    """The stack and memo of a pickle, for codes that make plain data only."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._do: dict[str, Callable[[Any], None]] = {
            "PROTO": _nothing, "FRAME": _nothing, "STOP": _nothing,
            "MARK": lambda _: self._stack.append(_MARK),
            "EMPTY_LIST": lambda _: self._stack.append([]),
            "EMPTY_TUPLE": lambda _: self._stack.append([]),
            "EMPTY_DICT": lambda _: self._stack.append({}),
            "LIST": lambda _: self._stack.append(self._to_mark()),
            "TUPLE": lambda _: self._stack.append(self._to_mark()),
            "TUPLE1": lambda _: self._gather(1), "TUPLE2": lambda _: self._gather(2), "TUPLE3": lambda _: self._gather(3),
            "DICT": lambda _: self._stack.append(_pairs({}, self._to_mark())),
            "APPEND": lambda _: self._extend([self._pop()]), "APPENDS": lambda _: self._extend(self._to_mark()),
            "SETITEM": lambda _: self._set([self._pop(), self._pop()][::-1]), "SETITEMS": lambda _: self._set(self._to_mark()),
            "PUT": self._keep, "BINPUT": self._keep, "LONG_BINPUT": self._keep,
            "MEMOIZE": lambda _: self._keep(len(self._memo)),
            "GET": self._recall, "BINGET": self._recall, "LONG_BINGET": self._recall,
        }  # fmt: skip

    def follow(self, code: str, argument: Any) -> None:
        """One code of the pickle."""
        if code in _TEXTS:
            is_bytes = isinstance(argument, bytes)
            self._stack.append(argument.decode("utf-8", "replace") if is_bytes else argument)
        elif code in _NUMBERS:
            if isinstance(argument, int) and abs(argument) > _MAX_INT:
                raise NotPlainError("a pickle with a number of more than 64 bits; " + _ADVICE)
            self._stack.append(argument)
        elif code in _CONSTANTS:
            self._stack.append(_CONSTANTS[code])
        elif code in self._do:
            self._do[code](argument)
        else:
            what = _CODES.get(code, "builds more than plain data")
            raise NotPlainError(
                f"a pickle that {what} ({code}), refused and not run: opening such a file can run any "
                f"command; {_ADVICE}"
            )

    def result(self) -> Any:
        """The one value that is left."""
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            raise NotPlainError("a pickle that is cut or damaged; copy it again completely")
        return self._stack[0]

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError
        return value

    def _to_mark(self) -> list[Any]:
        values = []
        while (value := self._stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def _gather(self, count: int) -> None:
        self._stack.append([self._pop() for _ in range(count)][::-1])

    def _extend(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError
        target.extend(values)

    def _set(self, values: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise TypeError
        _pairs(target, values)

    def _keep(self, number: int) -> None:
        if len(self._memo) >= MAX_MEMO:
            raise NotPlainError(f"a pickle that remembers more than {MAX_MEMO} values; {_ADVICE}")
        if self._stack[-1] is _MARK:
            raise ValueError
        self._memo[number] = self._stack[-1]

    def _recall(self, number: int) -> None:
        self._stack.append(self._memo[number])


def _nothing(_: Any) -> None:
    pass


def _pairs(target: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """Set keys and values that alternate; numbers as keys become texts, as in JSON."""
    for key, value in zip(values[::2], values[1::2], strict=True):
        if not isinstance(key, str | int | float | None):
            raise NotPlainError(f"a pickle with a list or table as a key; {_ADVICE}")
        target[key if isinstance(key, str) else str(key)] = value
    return target


def _check_size(value: Any) -> None:
    """Refuse what holds itself, nests without end, or is small only because parts are shared."""
    weights: dict[int, int] = {}  # values below each list or table that has been walked
    _weigh(value, weights, frozenset(), 0)


def _weigh(value: Any, weights: dict[int, int], above: frozenset[int], depth: int) -> int:
    if not isinstance(value, list | dict):
        return 1
    if id(value) in above:
        raise NotPlainError(f"a pickle with a value that holds itself; {_ADVICE}")
    if depth > MAX_DEPTH:
        raise NotPlainError(f"a pickle nested deeper than {MAX_DEPTH} levels; {_ADVICE}")
    if id(value) not in weights:
        parts = value.values() if isinstance(value, dict) else value
        around = above | {id(value)}
        weights[id(value)] = 1 + sum(_weigh(part, weights, around, depth + 1) for part in parts)
    if weights[id(value)] > MAX_VALUES:
        raise NotPlainError(f"a pickle that unfolds to more than {MAX_VALUES} values; {_ADVICE}")
    return weights[id(value)]

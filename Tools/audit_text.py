"""What the auditors read: lines, JSON, times and Protocol Buffers as Traylog writes them, from the documents alone.

The files are somebody else's. Anything that Traylog cannot have written is a ValueError in words, whatever it is: no number is
too long, no time too early, no line too long for it.
"""

import hashlib
import json
import re
import sys

LONGEST_LINE = 16 << 20
LARGEST = 2**64 - 1
ABSENT = -(2**63)
# JSON of Traylog nests 512 levels at most; each takes a few calls here.
sys.setrecursionlimit(10_000)


def excerpt(value):
    """A value in words of a bounded length."""
    text = written(value) if isinstance(value, (dict, list, Pairs)) else str(value)
    return text if len(text) <= 300 else text[:300] + "…"


def lines_of(name):
    """The lines of a file (- is standard input), with their numbers, without line feeds."""
    with sys.stdin.buffer if name == "-" else open(name, "rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 2):
            number += 1
            if len(line.rstrip(b"\n")) > LONGEST_LINE:
                raise ValueError(f"line {number} is longer than 16 MiB")
            yield number, line.rstrip(b"\n")


# --- JSON ---------------------------------------------------------------------------------------------------------------


class Number:
    """A number that is no whole number of 64 bits: kept as it is written, however long."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Number) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return self.text


class Pairs:
    """An object that has a member twice, as `data` may."""

    __slots__ = ("pairs",)

    def __init__(self, pairs):
        self.pairs = pairs

    def __eq__(self, other):
        return isinstance(other, Pairs) and same(self.pairs, other.pairs)

    __hash__ = None


def parse_integer(text):
    number = int(text) if len(text) <= 20 else None
    return number if number is not None and str(number) == text and number <= LARGEST else Number(text)


def refuse_constant(text):
    raise ValueError(f"{text} is no JSON")


def members_of(pairs):
    members = dict(pairs)
    return members if len(members) == len(pairs) else Pairs(pairs)


def parse(text):
    """The value of a JSON text in UTF-8."""
    try:
        return json.loads(
            text.decode() if isinstance(text, bytes) else text, parse_int=parse_integer, parse_float=Number,
            parse_constant=refuse_constant, object_pairs_hook=members_of)
    except RecursionError:
        raise ValueError("the JSON nests too deep") from None


def object_of(text, what):
    """The members of a JSON object."""
    try:
        value = parse(text)
    except ValueError as error:
        raise ValueError(f"{what} is no JSON: {error}") from None
    if isinstance(value, Pairs):
        raise ValueError(f"{what} has a member twice")
    if not isinstance(value, dict):
        raise ValueError(f"{what} is no object")
    return value


def written(value):
    """A JSON value as Traylog writes it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, dict):
        value = Pairs(list(value.items()))
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{written(name)}:{written(member)}" for name, member in value.pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(written, value)) + "]"
    return str(value)


def same(one, other):
    """Whether two JSON values are the same, their members in the same order; true is not 1, and 1.0 is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def digest(value):
    """A hash of a JSON value, so that the value itself need not be kept."""
    return hashlib.sha256(written(value).encode("utf-8", "surrogatepass")).digest()


def member(members, name, kind, what):
    """A member of an object, which must be of a type."""
    value = members.get(name)
    if type(value) is not kind:
        words = {int: "a whole number of 64 bits", str: "a text", dict: "an object", list: "a list"}[kind]
        raise ValueError(f"{name} of {what} is {'missing' if name not in members else 'not ' + words}")
    if kind is int and value < 0:
        raise ValueError(f"{name} of {what} is negative")
    return value


# --- Times --------------------------------------------------------------------------------------------------------------

EARLIEST, LATEST = -62_167_219_200_000, 253_402_300_799_999
TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)


def days(year, month, day):
    """The days from 1970-01-01 to a date; Python's own dates begin with year 1."""
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def milliseconds(text):
    """The milliseconds of a time as Traylog writes it; the smallest number where there is none."""
    if text is None:
        return ABSENT
    found = TIME.fullmatch(text) if isinstance(text, str) else None
    if not found:
        raise ValueError(f"{excerpt(text)} is no time as Traylog writes it")
    year, month, day, hour, minute, second, rest = map(int, found.groups())
    time = (((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + rest
    if rfc3339(time) != text:
        raise ValueError(f"there is no time {text}")
    return time


def rfc3339(time):
    """A time in the years 0000 to 9999, from its milliseconds since 1970."""
    if not EARLIEST <= time <= LATEST:
        raise ValueError("a time lies outside of the years 0000 to 9999")
    passed, rest = divmod(time, 86_400_000)
    era, of_era = divmod(passed + 719_468, 146_097)
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    year = year_of_era + era * 400 + (month <= 2)
    hour, rest = divmod(rest, 3_600_000)
    minute, rest = divmod(rest, 60_000)
    return f"{year:04}-{month:02}-{of_year - (153 * shifted + 2) // 5 + 1:02}T{hour:02}:{minute:02}:{rest // 1_000:02}.{rest % 1_000:03}Z"


# --- Protocol Buffers ---------------------------------------------------------------------------------------------------


def varint(message, at):
    number = shift = 0
    while True:
        if at == len(message) or shift > 63:
            raise ValueError("a number of a payload does not end")
        byte = message[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            if number > LARGEST:
                raise ValueError("a number of a payload has more than 64 bits")
            return number, at


def parts(message):
    """The fields of a message: number, wire type, value."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        if tag & 7 == 0:
            value, at = varint(message, at)
        else:
            if tag & 7 == 2:
                length, at = varint(message, at)
            elif tag & 7 in (1, 5):
                length = 8 if tag & 7 == 1 else 4
            else:
                raise ValueError(f"a field of type {tag & 7}")
            if length > len(message) - at:
                raise ValueError("a payload ends inside of a field")
            value, at = message[at : at + length], at + length
        yield tag >> 3, tag & 7, value

"""Policies of witnesses (C2SP tlog-policy), and what they say about a signed tree head (C2SP tlog-cosignature)."""

import base64
import collections
import hashlib
import re

MOST_BYTES = 1 << 20
# A witness's clock may be so many seconds ahead.
TOLERANCE = 300

Key = collections.namedtuple("Key", "name kind bytes identifier")


def key_of(text):
    """A public key as C2SP signed-note writes it."""
    parts = text.split("+", 2)
    if len(parts) != 3:
        raise ValueError("not a key: a public key is NAME+ID+KEY")
    name, identifier, encoded = parts
    raw = base64.b64decode(encoded, validate=True)
    if base64.b64encode(raw).decode() != encoded or len(raw) != 33 or raw[0] not in (1, 4):
        raise ValueError("not a key: it is neither Ed25519 (1) nor Ed25519 of a witness (4)")
    if hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4].hex() != identifier or not name or re.search(r"[\s+]", name):
        raise ValueError("not a key: name, identifier and key differ")
    return Key(name, raw[0], raw[1:], identifier)


class Policy:
    """Which logs may sign, which witnesses may cosign, and how many of these are a quorum."""

    def __init__(self, file):
        if len(file) > MOST_BYTES:
            raise ValueError("not a witness policy: it is over 1 MiB")
        self.logs, self.witnesses, self.groups, self.quorum = [], [], [], None
        # Names are bytes: two that look alike are two.
        self.voters, self.grouped, has_quorum = {}, set(), False
        for number, line in enumerate(file.split(b"\n"), 1):
            try:
                has_quorum |= self.take(line, has_quorum)
            except ValueError as error:
                raise ValueError(f"not a witness policy: line {number}: {error}") from None
        if not has_quorum:
            raise ValueError("not a witness policy: a line 'quorum NAME' or 'quorum none' is missing")

    def take(self, line, has_quorum):
        """Takes a line; whether it is the quorum."""
        if any(byte < 0x20 and byte != 9 or byte == 0x7F for byte in line):
            raise ValueError("it has a control character")
        words = [word for word in re.split(rb"[ \t]+", line) if word]
        if not words or words[0].startswith(b"#"):
            return False
        kind, count = words[0], len(words)
        if kind == b"log" and count in (2, 3):
            self.logs.append(self.new_key(words[1]))
        elif kind == b"witness" and count in (3, 4):
            key = self.new_key(words[2])
            if key.kind != 4:
                raise ValueError("its key is no witness's")
            self.define(words[1], ("witness", len(self.witnesses)))
            self.witnesses.append(key)
        elif kind == b"group" and count >= 4:
            members = []
            for name in words[3:]:
                if name not in self.voters or name in self.grouped:
                    raise ValueError("it has a member that is unknown, or in a group already")
                self.grouped.add(name)
                members.append(self.voters[name])
            threshold = {b"any": b"1", b"all": str(len(members)).encode()}.get(words[2], words[2])
            if not re.fullmatch(rb"[1-9][0-9]{0,9}", threshold) or int(threshold) > len(members):
                raise ValueError(f"it asks for more than its {len(members)} members")
            self.define(words[1], ("group", len(self.groups)))
            self.groups.append((int(threshold), members))
        elif kind == b"quorum" and count == 2 and not has_quorum:
            if words[1] != b"none":
                if words[1] not in self.voters:
                    raise ValueError("it names what no line before defines")
                self.quorum = self.voters[words[1]]
            return True
        else:
            raise ValueError("it is no line of a policy")
        return False

    def new_key(self, word):
        key = key_of(word.decode())
        # No log is its own witness, and none is named twice.
        if any(key.bytes == known.bytes for known in self.logs + self.witnesses):
            raise ValueError("it names a key a second time")
        return key

    def define(self, name, voter):
        if name == b"none" or name in self.voters:
            raise ValueError("it defines a name a second time")
        self.voters[name] = voter

    def is_quorum(self, seen):
        reached = []
        has = {"witness": seen.__contains__, "group": lambda index: reached[index]}
        for threshold, members in self.groups:
            reached.append(sum(has[kind](index) for kind, index in members) >= threshold)
        return self.quorum is None or has[self.quorum[0]](self.quorum[1])

    def check(self, note, origin, verify, log, now):
        """The sentence about a signed tree head; ValueError where it does not count.

        `note` is its text and signatures, `verify` checks Ed25519, `log` is the key that must have signed it, or None."""
        keys = self.logs
        if log is not None:
            if keys and log not in keys:
                raise ValueError("the policy does not name the log")
            keys = [log]
        if not keys:
            raise ValueError("the policy names no log: add a line 'log KEY', or give --public-key")
        message = note.text.encode()
        signed = [key for key in keys if key.name == origin and own(note, key, lambda raw, key=key: valid(verify, key, raw, message))]
        if not signed:
            raise ValueError(f"the key {', '.join(key.name for key in keys)} has not signed it")
        times = {}
        for index, key in enumerate(self.witnesses):
            seen = [when(raw) for raw in own(note, key, lambda raw, key=key: valid(verify, key, raw, message))]
            if seen and max(seen) <= now + TOLERANCE:
                times[index] = max(seen)
        count = f"seen by {len(times)} of {len(self.witnesses)} witness{'' if len(self.witnesses) == 1 else 'es'}"
        if not self.is_quorum(times):
            raise ValueError(f"{count}, and the policy asks for more")
        last = f", the last {age(max(0, now - max(times.values())))} ago" if times else ""
        return f"signed by {signed[0].name}, {count}{last}"


def own(note, key, check):
    """The signatures of a key under a note; ValueError where one does not fit."""
    found = [raw[4:] for name, raw in note.signatures if name == key.name and raw[:4].hex() == key.identifier]
    if not all(check(raw) for raw in found):
        raise ValueError(f"the signature of {key.name} does not fit the text")
    return found


def when(raw):
    return int.from_bytes(raw[:8], "big")


def valid(verify, key, raw, message):
    if key.kind == 1:
        return verify(key.bytes, raw, message)
    if len(raw) != 72 or not 0 < when(raw) < 2**63:
        return False
    return verify(key.bytes, raw[8:], f"cosignature/v1\ntime {when(raw)}\n".encode() + message)


def age(seconds):
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"

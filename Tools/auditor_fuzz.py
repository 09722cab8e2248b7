#!/usr/bin/env python3
"""Hands wrong files to both checkers: Tools/auditor_fuzz.py PROGRAM, for BUDGET seconds (20), from SEED (random, and printed).

`traylog check` and auditor.py read files that somebody else made. Each file here must get a verdict: no signal, no traceback, no
error that was not foreseen, no memory without a bound; and both must come to the same verdict. Half of the files are right ones
with something changed, half are forged: with proofs that are right, and numbers, times and texts that no log has.
"""

import base64
import contextlib
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import auditor
from audit_text import written

NUMBERS = [0, 1, 2, 255, 2**31 - 1, 2**32 - 1, 2**32, 2**53, 2**56 - 1, 2**56, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -1, -(2**63), 10**30]
TIMES = [-(2**63), -(2**63) + 1, 2**63 - 1, 0, -62_167_219_200_001, -62_167_219_200_000, 253_402_300_799_999, 253_402_300_800_000]
PIECES = [
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"1e999", b"NaN", b"-", b"\\ud800", b"\xff", b"\xc3", b"\0", b"\n",
    b"9" * 5_000, b"[" * 3_000, b'{"a":' * 600, b'"treeHead":{},', b'"event":null,', b'"proof":[],', b'"path":{},', b"0000-01-01T00:00:00.000Z",
    b"10000-01-01T00:00:00.000Z", b"=", b"\xef\xbb\xbf", b"\xe2\x80\x94 a b", b" ", b'"complete":true,', b'"seq":1,', b'"data":[1.0],', b'"topic":"t",',
]
COMMANDS = [
    {"kind": "subscribe", "user": "ann", "topic": "news"}, {"kind": "broadcast", "topic": "news", "title": "All", "data": {"a": [1.50, 1e2]}},
    {"kind": "notify", "user": "ann", "title": "One", "key": "k", "occurredAt": "0000-01-01T00:00:00Z", "data": {"n": int("9" * 30)}},
    {"kind": "notify", "user": "ann", "title": "Two", "expiresAt": "9999-12-31T23:59:59Z", "thread": "t"},
    {"kind": "mark", "user": "ann", "as": "read", "items": [3]}, {"kind": "edit", "user": "ann", "item": 4, "title": "New", "body": None},
    {"kind": "undo", "user": "ann", "event": 5}, {"kind": "notify", "user": "bob", "title": "Other", "actor": "ann"},
    {"kind": "mute", "user": "ann", "thread": "t"}, {"kind": "markAll", "user": "ann", "as": "seen"},
    {"kind": "notify", "user": "ann", "title": "Pay?", "actions": [{"id": "yes", "label": "Yes"}], "data": {"n": [1.0]}},
    {"kind": "edit", "user": "ann", "item": 11, "title": "Pay 2?", "level": None}, {"kind": "edit", "user": "ann", "item": 11, "data": [3]},
    {"kind": "act", "user": "ann", "item": 11, "action": "yes", "note": "ok", "asOf": 13}, {"kind": "edit", "user": "ann", "item": 11, "body": "?"},
    {"kind": "mute", "user": "ann", "topic": "news", "until": "2026-01-15T00:00:00Z"},
    {"kind": "notify", "user": "ann", "title": "Later", "key": "later", "notBefore": "2090-01-01T00:00:00Z", "actor": "bob"},
    {"kind": "edit", "user": "ann", "item": "later", "body": "Soon", "notBefore": "2090-01-01T00:00:01Z"},
    {"kind": "broadcast", "topic": "news", "title": "Later for all", "notBefore": "2090-01-01T00:00:00Z", "thread": "t"},
    {"kind": "notify", "user": "ann", "title": "Never", "notBefore": "2100-01-01T00:00:00Z"},
]


class Files:
    """A store, and what an auditor is handed of it."""

    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        lines = "".join(json.dumps(command) + "\n" for command in COMMANDS)
        self.run("append", "-", feed=lines)
        self.run("tick", "--now", "2090-01-02T00:00:00Z")
        self.run("keygen", self.path("key"), "--name", "fuzz.example")
        self.right = [
            (self.save("whole", self.run("audit", "ann", "--complete", "--purpose", "fuzz")), True),
        ]
        self.run("tree-head", "--sign", self.path("key"), "--append", self.path("signed"))
        size = str(json.loads(self.save("plain", self.run("tree-head", "--json")))["treeSize"])
        for name, words in (
            ("report", ("audit", "ann", "--json", "--disclose")), ("bare", ("audit", "ann", "--json")),
            ("proof", ("prove", "3", "--disclose", "--json")), ("growth", ("prove-consistency", "4", size, "--json")),
            ("decision", ("decision", "ann", "11", "--json")),
        ):
            self.right.append((self.save(name, self.run(*words)), False))

    def path(self, name):
        return os.path.join(self.directory, name)

    def save(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return content

    def run(self, *words, feed=None):
        done = subprocess.run(
            [self.program, "--store", self.path("store"), *words], input=feed and feed.encode(), capture_output=True, check=False)
        if done.returncode:
            sys.exit(f"{words}: exit {done.returncode}: {done.stderr.decode()}")
        return done.stdout


class Maker:
    """Makes wrong files."""

    def __init__(self, seed, files):
        self.random, self.files = random.Random(seed), files

    def next(self):
        """A file, the text of its tree head (nil for a right one), and whether it is a history."""
        if self.random.random() < 0.5:
            return self.forged()
        content, is_history = self.random.choice(self.files.right)
        for _ in range(self.random.randint(1, 3)):
            content = self.changed(content)
        if is_history and self.random.random() < 0.6:
            content = self.chained(content)
        return content, None, is_history

    def changed(self, content):
        pick = self.random.randrange
        at = pick(len(content) + 1)
        end = min(len(content), at + pick(30))
        way = pick(8)
        if way == 0 and at < len(content):
            return content[:at] + bytes([content[at] ^ (1 << pick(8))]) + content[at + 1 :]
        if way == 1:
            return content[:at] + content[end:]
        if way == 2:
            return content[:at] + self.random.choice(PIECES) + content[at:]
        if way == 3:
            return content[:at]
        lines = content.split(b"\n")
        place = pick(len(lines))
        if way == 4:
            lines.insert(pick(len(lines) + 1), lines[place])
        elif way == 5:
            del lines[place]
        else:
            lines[place] = self.with_other_value(lines[place])
        return b"\n".join(lines)

    def with_other_value(self, line):
        """The line with another value in a member, wherever that is."""
        try:
            value = json.loads(line)
        except ValueError:
            return line
        places = []

        def walk(value):
            if isinstance(value, (dict, list)):
                for name in list(value) if isinstance(value, dict) else range(len(value)):
                    places.append((value, name))
                    walk(value[name])

        walk(value)
        if places:
            holder, name = self.random.choice(places)
            holder[name] = self.random.choice(
                [*NUMBERS, None, True, "", "x", "\u2028", "\ud83d", [], {}, [[]], 1.5, "0" * 64, "AAAA", "erased-1", "erased-" + "9" * 30])
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    @staticmethod
    def chained(content):
        """The lines with the last line that fits them."""
        lines = [line for line in content.split(b"\n") if not line.startswith(b'{"chain"')]
        if lines and not lines[-1]:
            lines.pop()
        chain = bytes(32)
        for line in lines:
            chain = auditor.sha256(chain, line)
        return b"".join(line + b"\n" for line in [*lines, b'{"chain":"%s"}' % chain.hex().encode()])

    # Files that somebody makes who has no log, with a tree of their own

    def number(self, largest):
        return self.random.choice([number for number in NUMBERS if 0 <= number <= largest] + [self.random.randint(0, largest)])

    def payload(self):
        def varint(number):
            out = b""
            while number > 127:
                out, number = out + bytes([number & 127 | 128]), number >> 7
            return out + bytes([number])

        out = b""
        for _ in range(self.random.randint(0, 5)):
            field, wire = self.random.choice([1, 2, 3, 4, 12, 15, 17, 18, 20, 24, 25, 26, 27, 28, 30, 31, 35, 37, 38, 42, 43, 44, 45]), 0
            if field in (1, 2, 3, 4, 12, 20, 26, 31, 38, 42, 43) and self.random.random() < 0.9:
                wire = 2
            out += varint(field << 3 | wire)
            if wire == 0:
                out += varint(self.number(2**64 - 1))
            else:
                text = self.random.choice([
                    b"ann", b"news", b"", b"\xff", b"[" * 700, b'{"a":1,"a":2}', b"1e999", b"9" * 5_000, b"\xe2\x80\xa8", varint(self.number(2**64 - 1)) * 3,
                    b"\x0a\x04news\x10" + varint(self.number(2**64 - 1))])
                out += varint(len(text) if self.random.random() < 0.9 else self.number(2**64 - 1)) + text
        return out

    def forged(self):
        """A history of one to four events, each at the place that it says, in a tree that fits."""
        count = self.random.randint(1, 4)
        leaves, payloads = [], []
        for seq in range(1, count + 1):
            payload = self.payload()
            kind = self.random.choice([1, 11, 11, 13, 13, 21, 23, self.random.randrange(256)])
            recorded = self.random.choice([1_795_000_000_000 + seq, *TIMES]) if self.random.random() < 0.2 else 1_795_000_000_000 + seq
            occurred = self.random.choice(TIMES) if self.random.random() < 0.2 else -(2**63)
            revision = self.number(2**32 - 1) if self.random.random() < 0.5 else seq
            header = struct.pack("<BBIIQqq", 2, kind, self.random.choice([1, 2, self.number(2**32 - 1)]), revision, seq, recorded, occurred)
            leaves.append(header + auditor.sha256(b"\1" * 16, payload))
            payloads.append(payload)
        tree = auditor.Leaves()
        for leaf in leaves:
            tree.bytes += auditor.sha256(b"\0", leaf)
        root = tree.root(0, count).hex()
        head = {"treeSize": count, "rootHash": root}
        lines = [{"user": self.random.choice(["ann", "ann", "erased-1", "x" * 300]), "complete": True, "treeHead": head, "disclosed": True}]
        for index, (leaf, payload) in enumerate(zip(leaves, payloads)):
            lines.append(self.line(tree, index, leaf, payload, head))
        if self.random.random() < 0.7:
            counts = {"unseen": 0, "unread": 0, "total": 0}
            lines.append({"tray": {"user": "ann", "asOf": count, "revision": self.number(2**64 - 1), **counts}})
            lines.append({"item": {"seq": self.number(2**64 - 1), "outcome": self.random.choice([None, {}, 1])}})
        is_history = self.random.random() < 0.8
        if not is_history:
            lines = [line for line in lines if "tray" not in line and "item" not in line]
        text = b"\n".join(written(line).encode() for line in lines) + b"\n"
        return self.chained(text), written(head) + "\n", is_history

    def line(self, tree, index, leaf, payload, head):
        proof = {
            "seq": index + 1, "leafIndex": index, **head, "leafHash": tree[index].hex(), "leaf": base64.b64encode(leaf).decode(),
            "path": [node.hex() for node in auditor.path(tree, index, 0, head["treeSize"])],
        }
        line = {"topic": self.random.choice(["news", "t" * 300, ""])} if self.random.random() < 0.5 else {}
        if self.random.random() < 0.1:
            line["names"] = True
        counts = {"unseen": 0, "unread": 0, "total": 0}
        if self.random.random() < 0.7:
            with contextlib.suppress(ValueError):
                parts = auditor.Leaf(*auditor.LEAF.unpack(leaf[: auditor.LEAF.size]))
                line["event"] = auditor.event_of(auditor.kind_of(parts.kind), *parts[4:5], parts.revision, *parts[5:], payload)
        line |= {"before": counts, "after": counts, "proof": proof}
        if self.random.random() < 0.7:
            line["disclosed"] = {"salt": base64.b64encode(b"\1" * 16).decode(), "payload": base64.b64encode(payload).decode()}
        return line


class Checkers:
    def __init__(self, files):
        self.files = files

    def verdicts(self, content, head, is_history, head_name):
        """What the two say: whether it is proved, and their words."""
        file = self.files.path("file")
        self.files.save("file", content)
        if head is not None:
            self.files.save("forged-head", head.encode())
            head_name = "forged-head"
        head_file = self.files.path(head_name)
        words = [self.files.program, "check", file, *(["--complete"] if is_history else []), "--tree-head", head_file]
        done = subprocess.run(
            words, capture_output=True, check=False, timeout=60, env={**os.environ, "SWIFT_BACKTRACE": "enable=no"}, preexec_fn=bounded)
        if done.returncode not in (0, 1, 65):
            raise AssertionError(f"traylog check ends with {done.returncode}: {done.stderr[-500:]!r}")
        own = done.returncode == 0, (done.stdout + done.stderr).decode("utf-8", "replace")
        try:
            heads = [head for head, _ in auditor.tree_heads(head_file)]
            handed_out = auditor.HandedOut(heads)
            return own, (True, str((handed_out.check_complete if is_history else handed_out.check_file)(file)))
        except (OSError, ValueError) as error:
            return own, (False, str(error))


def bounded():
    """No file of a few kilobytes needs a gigabyte."""
    resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n")[0])
    seed = int(os.environ.get("SEED") or random.randrange(2**32))
    end = time.monotonic() + float(os.environ.get("BUDGET") or 20)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        files = Files(sys.argv[1], directory)
        checkers = Checkers(files)
        for content, is_history in files.right:
            for head_name in ("plain", "signed"):
                own, other = checkers.verdicts(content, None, is_history, head_name)
                if not (own[0] and other[0]):
                    sys.exit(f"a right file is refused: {own}, {other}")
        rounds = proved = 0
        while time.monotonic() < end:
            round_seed = f"{seed}-{rounds}"
            content, head, is_history = Maker(round_seed, files).next()
            try:
                own, other = checkers.verdicts(content, head, is_history, random.Random(round_seed).choice(["plain", "signed"]))
                if own[0] != other[0]:
                    raise AssertionError(f"traylog check: {own}; auditor.py: {other}")
            except Exception:
                print(f"round {round_seed}, a {'history' if is_history else 'file'} with the head {head}:\n{content[:20_000]!r}")
                raise
            rounds, proved = rounds + 1, proved + own[0]
    print(f"ok  {rounds} wrong files got the same verdict from two checkers; {proved} of them are right all the same")


if __name__ == "__main__":
    main()

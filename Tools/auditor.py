#!/usr/bin/env python3
"""Verifies what Traylog proves, knowing nothing of Traylog but its documents.

It makes the Merkle tree of an exported log (Docs/internals/format.md, "Export" and "Leaf") by the recursive definitions of RFC 9162,
section 2.1, and holds tree heads, proofs, reports and signed checkpoints against it. With --check it holds proofs, reports,
decisions (decision.py), items' stories (item_story.py) and a person's file against tree heads alone, without a log; with --complete
it also checks that a history is complete (complete_history.py). With --witness-policy each tree head must be signed by a log and
cosigned by a quorum of witnesses (witness_policy.py); where none is named, the one counts that a file has with it. Python's standard
library is all it needs, and the `openssl` program for signatures.

Whatever a file says, the answer is a verdict: exit 0 where everything is proved, else 1 and a sentence that begins with
`auditor:`. It takes a line at a time; of a log it keeps 32 bytes for each event.

    auditor.py --complete ann.jsonl --tree-head head.json
    auditor.py --check proof.json --tree-head checkpoint --witness-policy policy
    auditor.py --check report.jsonl --check event-17.tlog-proof --witness-policy policy
    auditor.py --check story-17.html --public-key audit.key.pub
    auditor.py --check proof.json --check report.jsonl --checkpoint checkpoint --public-key audit.key.pub
    traylog export | auditor.py - --tree-head head.json --proof proof.json --consistency growth.json
    auditor.py log.jsonl --checkpoint checkpoint --public-key audit.key.pub --report report.jsonl
"""

import argparse
import base64
import collections
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

from audit_text import ABSENT, EARLIEST, LATEST, LONGEST_LINE, excerpt, lines_of, member, milliseconds, object_of, same, written
from complete_history import CompleteCheck
from decision import check_decision
from item_story import check_story
from tray_fold import KINDS, event_of, kind_of
from witness_policy import Policy, key_of

# The first line of a proof in C2SP's form.
LOG_PROOF = b"c2sp.org/tlog-proof@v1"
# No log has more events (Docs/internals/format.md).
MOST_EVENTS = 2**56 - 1


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def base64_of(members, name, what):
    """The bytes of a member in Base64, in the one way to write them."""
    text = member(members, name, str, what)
    found = base64.b64decode(text, validate=True)
    if base64.b64encode(found).decode() != text:
        raise ValueError(f"{name} of {what} is not in the Base64 that Traylog writes")
    return found


def hash_of(members, name, what):
    return hash_from(member(members, name, str, what), f"{name} of {what}")


def hash_from(text, what):
    if not isinstance(text, str) or len(text) != 64 or not set(text) <= set("0123456789abcdef"):
        raise ValueError(f"{what} is not 64 hexadecimal digits: {excerpt(text)}")
    return bytes.fromhex(text)


def expect(what, found, wanted):
    if not same(found, wanted):
        raise ValueError(f"{what} is {excerpt(found)}, and should be {excerpt(wanted)}")


# --- The tree -----------------------------------------------------------------------------------------------------------

# Docs/internals/format.md, "Leaf", without the digest.
Leaf = collections.namedtuple("Leaf", "version kind stream revision seq recorded occurred")
LEAF = struct.Struct("<BBIIQqq")


def leaf_of(line, number):
    """The leaf of an exported event."""
    what = f"line {number}"
    if "lost" in line:
        raise ValueError(f"{what}: event {excerpt(line.get('seq'))} is not in the export ({excerpt(line['lost'])})")
    stored = member(line, "stored", dict, what)
    if "digest" in stored:
        digest = base64_of(stored, "digest", what)
    else:
        digest = sha256(base64_of(stored, "salt", what), base64_of(stored, "payload", what))
    kind = member(line, "kind", str, what)
    if kind not in KINDS or len(digest) != 32:
        raise ValueError(f"{what} has the kind {excerpt(kind)} and a digest of {len(digest)} bytes")
    expect(f"the number of the event in {what}", line.get("seq"), number)
    times = (milliseconds(member(line, "recordedAt", str, what)), milliseconds(line.get("occurredAt")))
    numbers = [member(stored, "stream", int, what), member(line, "revision", int, what) if "revision" in line else 0]
    if max(numbers) >= 2**32:
        raise ValueError(f"{what} has a number that no event has")
    return LEAF.pack(2, KINDS.index(kind) + 1, *numbers, number, *times) + digest


class Leaves:
    """The hashes of the leaves of a log, one behind the other, and of the complete subtrees that were asked for."""

    def __init__(self):
        self.bytes = bytearray()
        self.subtrees = {}

    def __len__(self):
        return len(self.bytes) // 32

    def __getitem__(self, index):
        return bytes(self.bytes[32 * index : 32 * index + 32])

    def root(self, first, last):
        """The hash over the leaves from `first` up to, and without, `last` (RFC 9162, 2.1.1)."""
        count = last - first
        if count <= 1:
            return self[first] if count else sha256()
        # A complete subtree is in every tree that reaches so far.
        is_kept = count >= 256 and count & (count - 1) == 0
        if not is_kept or (first, last) not in self.subtrees:
            middle = first + split(count)
            found = sha256(b"\1", self.root(first, middle), self.root(middle, last))
            if not is_kept:
                return found
            self.subtrees[first, last] = found
        return self.subtrees[first, last]


def split(count):
    """The greatest power of two below a number."""
    return 1 << ((count - 1).bit_length() - 1)


def path(leaves, index, first, last):
    """RFC 9162, 2.1.3.1."""
    if last - first == 1:
        return []
    middle = first + split(last - first)
    if index < middle:
        return path(leaves, index, first, middle) + [leaves.root(middle, last)]
    return path(leaves, index, middle, last) + [leaves.root(first, middle)]


def growth(leaves, size, first, last, whole=True):
    """RFC 9162, 2.1.4.1."""
    if size == last:
        return [] if whole else [leaves.root(first, last)]
    middle = first + split(last - first)
    if size <= middle:
        return growth(leaves, size, first, middle, whole) + [leaves.root(middle, last)]
    return growth(leaves, size, middle, last, False) + [leaves.root(first, middle)]


class Auditor:
    """A log, and what is held against it."""

    def __init__(self, lines):
        self.leaves = Leaves()
        for number, line in lines:
            self.leaves.bytes += sha256(b"\0", leaf_of(object_of(line, f"line {number}"), number))

    def check_head(self, head):
        size = member(head, "treeSize", int, "the tree head")
        if size > len(self.leaves):
            raise ValueError(f"the log has {len(self.leaves)} events, not {size}")
        expect(f"the root of {size} events", head.get("rootHash"), self.leaves.root(0, size).hex())
        return size

    def check_proof(self, proof):
        size = self.check_head(proof)
        index = member(proof, "leafIndex", int, "the proof")
        expect("the event of the proof", proof.get("seq"), index + 1)
        if index >= size:
            raise ValueError(f"leaf {index} is not in a tree of {size} events")
        wanted = self.leaves[index].hex()
        expect(f"the hash of leaf {index}", proof.get("leafHash"), wanted)
        if "leaf" in proof:
            expect(f"the hash of the leaf {index}", sha256(b"\0", base64_of(proof, "leaf", "the proof")).hex(), wanted)
        # The path to the root, computed from this log alone.
        expect(f"the path of leaf {index}", proof.get("path"), [node.hex() for node in path(self.leaves, index, 0, size)])

    def check_growth(self, proof):
        first, second = (
            self.check_head({"treeSize": proof.get(size), "rootHash": proof.get(root)})
            for size, root in (("first", "firstRoot"), ("second", "secondRoot")))
        wanted = growth(self.leaves, first, 0, second) if 0 < first < second else []
        expect("the path", proof.get("path"), [node.hex() for node in wanted])

    def check_report(self, lines):
        head, count = None, 0
        for line in lines:
            if head is None:
                head = member(line, "treeHead", dict, "the report")
                self.check_head(head)
                continue
            proof = member(line, "proof", dict, "the report")
            self.check_proof(proof)
            expect("the tree", proof["rootHash"], head["rootHash"])
            expect("the event", member(line, "event", dict, "the report").get("seq"), proof["seq"])
            count += 1
        if head is None:
            raise ValueError("the report is empty")
        return count

    def check_signature(self, note, key):
        signed = Note(note)
        parts = key.strip().split("+", 2)
        if len(parts) != 3:
            raise ValueError("a public key is NAME+ID+KEY")
        name, key_id, encoded = parts
        key_bytes = base64.b64decode(encoded, validate=True)
        if len(key_bytes) != 33 or key_bytes[0] != 1:
            raise ValueError("the public key is not of Ed25519")
        expect("the key's id", key_id, sha256(name.encode(), b"\n", key_bytes).hex()[:8])
        own = [raw for signer, raw in signed.signatures if signer == name and raw[:4].hex() == key_id]
        if not own:
            raise ValueError(f"{name} has not signed it")
        if not any(verify_ed25519(key_bytes[1:], raw[4:], signed.text.encode()) for raw in own):
            raise ValueError(f"the signature of {name} does not fit the text")


# --- Tree heads ---------------------------------------------------------------------------------------------------------


class Note:
    """A signed text (C2SP signed-note)."""

    def __init__(self, note):
        self.text, separator, signatures = note.rpartition("\n\n")
        if not separator or not signatures.endswith("\n"):
            raise ValueError("a signed tree head has its signatures below an empty line")
        self.text += "\n"
        self.signatures = []
        for line in signatures[:-1].split("\n"):
            parts = line.split(" ")
            if len(parts) != 3 or parts[0] != "\u2014" or len(self.signatures) == 100:
                raise ValueError("a signed tree head has a line that is no signature")
            self.signatures.append((parts[1], base64.b64decode(parts[2], validate=True)))


def signed_head(note):
    """The tree head that a checkpoint says (C2SP tlog-checkpoint)."""
    lines = Note(note).text.split("\n")
    if len(lines) < 4 or not 0 < len(lines[1]) <= 20 or not (lines[1].isascii() and lines[1].isdigit()):
        raise ValueError("a signed tree head has an origin, a size and a root")
    root = base64.b64decode(lines[2], validate=True)
    if len(root) != 32 or str(int(lines[1])) != lines[1]:
        raise ValueError("a signed tree head has an origin, a size and a root")
    return {"treeSize": int(lines[1]), "rootHash": root.hex()}


def plain_head(text):
    """The tree head in the two lines that `tree-head` prints for people, byte by byte; the first line of no checkpoint begins so."""
    lines = re.fullmatch(r"tree size  (0|[1-9][0-9]{0,19})\nroot hash  ([0-9a-f]{64})\n", text)
    if lines is None or int(lines[1]) >= 2**64:
        raise ValueError("a tree head has two lines, size and root hash, in the form that tree-head prints, or is signed, or JSON")
    return {"treeSize": int(lines[1]), "rootHash": lines[2]}


def stated_head(members, what):
    """A tree head in JSON, and the checkpoint that it has with it: of the same tree, or of a later one to which `path` leads."""
    size, root = member(members, "treeSize", int, what), hash_of(members, "rootHash", what)
    head, note = {"treeSize": size, "rootHash": root.hex()}, None
    if "checkpoint" in members:
        note = member(members, "checkpoint", str, what)
        seen = signed_head(note)
        nodes = [hash_from(node, "a node of the path") for node in member(members, "path", list, what)] if "path" in members else []
        if not grew(size, root, seen["treeSize"], bytes.fromhex(seen["rootHash"]), nodes):
            raise ValueError(f"the checkpoint of {what} does not follow from the tree head: it is of another log, or was changed")
    return head, note


def text_of(name):
    """A small file: a tree head, a key."""
    with open(name, "rb") as file:
        text = file.read((1 << 20) + 1)
    if len(text) > 1 << 20:
        raise ValueError(f"{name} is over 1 MiB")
    return text.decode()


def tree_heads(name):
    """The tree heads in a file as `tree-head` prints them, plain or signed, with the signed text where there is one."""
    heads, note, is_signed = [], "", False

    def finish():
        nonlocal note, is_signed
        if note.startswith("tree size "):
            plain_head(note)  # Its second line is missing.
        if note:
            heads.append((signed_head(note), note))
        note, is_signed = "", False

    for line in text_of(name).split("\n"):
        is_signature = line.startswith("\u2014 ")
        if is_signed and not is_signature:
            finish()
        if not note and line.startswith("{"):
            members = object_of(line, name)
            if "leafIndex" in members:
                raise ValueError(f"{name} is a proof, which cannot vouch for itself")
            heads.append(stated_head(members, name))
        elif note or line:
            is_second = note.startswith("tree size ")
            note += line + "\n"
            is_signed = is_signature and not is_second
            if is_second:
                heads.append((plain_head(note), None))
                note = ""
    finish()
    if not heads:
        raise ValueError(f"{name} holds no tree head")
    return heads


def heads_of(options):
    """The tree heads of --tree-head and --checkpoint; with a key, each signed one must be signed by it."""
    key = text_of(options.public_key) if options.public_key else None
    found = []
    for name in options.tree_head + options.checkpoint:
        for head, note in tree_heads(name):
            # A key that is given for tree heads must have signed them.
            needs_signature = name in options.checkpoint or (key is not None and not options.checkpoint)
            if note is None and needs_signature:
                raise ValueError(f"the tree head in {name} is not signed")
            if name in options.checkpoint and key is None:
                raise ValueError("--checkpoint needs --public-key")
            if note is not None and key is not None:
                Auditor([]).check_signature(note, key)
            found.append(head)
            if options.witness_policy:
                print(seen_words(head, note, options, key))
    return found


def seen_words(head, note, options, key):
    """Who signed and saw a tree head, in the words of `traylog check`; ValueError where the policy asks for more."""
    with open(options.witness_policy, "rb") as file:
        policy = Policy(file.read((1 << 20) + 1))
    try:
        if note is None:
            raise ValueError("it is not signed")
        signed = Note(note)
        return policy.check(
            signed, signed.text.split("\n", 1)[0], verify_ed25519, None if key is None else key_of(key.strip()), int(time.time()))
    except ValueError as error:
        raise ValueError(f"the tree head of {head['treeSize']} events does not count: {error}") from None


def verify_ed25519(key, signature, text):
    # The key as RFC 8410 wraps it.
    pem = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + key).decode()
    with tempfile.TemporaryDirectory() as directory:
        names = [os.path.join(directory, name) for name in ("key", "signature", "text")]
        for name, content in zip(
            names, (f"-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n".encode(), signature, text)
        ):
            with open(name, "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", names[0], "-rawin", "-sigfile", names[1], "-in", names[2]]
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


# --- Without a log ------------------------------------------------------------------------------------------------------


class HandedOut:
    """Proofs, reports and a person's file, held against tree heads alone: no log, no store."""

    MEMBERS = {"seq", "leafIndex", "treeSize", "rootHash", "leafHash", "leaf", "path", "salt", "payload"}

    def __init__(self, heads, key=None, seen=None):
        self.seen = seen  # checks the tree head that a file has with it, where none is named; None to take none
        self.decision = None  # what the file proves, if it is a decision
        self.story = None  # the same of a story
        self.key = key  # has signed a story, and the checkpoint that a file has with it
        self.heads = [(member(head, "treeSize", int, "the tree head"), hash_of(head, "rootHash", "the tree head").hex()) for head in heads]

    def check_file(self, name):
        """The number of events that are proved."""
        chain, proved, first, counts, is_closed, number = bytes(32), 0, {}, None, False, 0
        lines = lines_of(name)
        for number, line in lines:
            if number == 1 and line.startswith(b"<"):
                return self.check_story(line, lines)
            if number == 1 and line == LOG_PROOF:
                return self.check_log_proof(name)
            what = f"line {number}"
            if is_closed:
                raise ValueError(f"{what} comes after the line that closes the file")
            value = object_of(line, what)
            if self.decision is not None:
                raise ValueError(f"{what} comes after the decision")
            if number == 1 and line.startswith(b'{"decision":'):
                self.decision = check_decision(line, value, self.check_own_head, self.prove)
                proved += len(value["shown"]) + len(value["answers"]) + ("later" in value)
                continue
            # Every byte counts: there is one way to write a line. Data is kept as it was given.
            if b"data" not in line:
                expect(what, line.decode(), written(value))
            if number == 1 and "treeHead" in value:
                first, counts = value, value.get("before")
                self.check_own_head(member(value, "treeHead", dict, what))
            elif "chain" in value:
                expect("the chain", value, {"chain": chain.hex()})
                is_closed = True
            elif "firstRoot" in value:
                self.check_growth(value)
            elif "leafIndex" in value:
                self.check_proof(value)
                proved += 1
            elif "event" in value and first.get("disclosed") and value.get("archived") and "proof" not in value:
                proved += 1
            elif "event" in value:
                self.check_entry(value, counts)
                counts = value.get("after", counts)
                proved += 1
            elif "proof" in value:
                self.check_proof(member(value, "proof", dict, what))
                proved += 1
            elif not first.get("disclosed"):
                raise ValueError(f"{what} is neither a proof nor an event")
            chain = sha256(chain, line)
        if number == 0:
            raise ValueError("the file is empty")
        if first and not first.get("complete"):
            expect("the number of events", proved, first.get("events"))
        if first.get("disclosed") and not is_closed:
            raise ValueError("the line that closes the file is missing")
        return proved

    def check_log_proof(self, name):
        """A C2SP tlog-proof, which has the event's leaf in its line `extra`, and its own tree head."""
        lines, separator, note = text_of(name).partition("\n\n")
        _, extra, number, *nodes = lines.split("\n") + ["", ""]
        if not separator or not extra.startswith("extra ") or not number.startswith("index "):
            raise ValueError("a proof has the lines 'extra', 'index', its hashes, and a checkpoint below an empty line")
        head, leaf = signed_head(note), base64_of({"leaf": extra[6:]}, "leaf", "the proof")
        if not self.heads and self.seen is not None:
            self.seen(head, note)
            self.heads = [(head["treeSize"], head["rootHash"])]
        path = [base64_of({"hash": node}, "hash", "the proof").hex() for node in nodes[:-2]]
        if not number[6:].isascii() or not number[6:].isdigit() or len(number) > 26 or str(int(number[6:])) != number[6:]:
            raise ValueError("the line 'index' has no number")
        index = int(number[6:])
        self.check_proof({
            "seq": index + 1, "leafIndex": index, **head, "leafHash": sha256(b"\0", leaf).hex(), "leaf": base64.b64encode(leaf).decode(),
            "path": path})
        return 1

    def check_story(self, first, lines):
        """A page of a story; answers the number of events that are proved."""
        page, size = [first], 0
        for _, line in lines:
            page.append(line)
            size += len(line) + 1
            if size > LONGEST_LINE:
                raise ValueError("the page is longer than 16 MiB")
        text = b"".join(line + b"\n" for line in page)
        self.story, proved = check_story(text, self.read_note, self.check_head, self.check_proof)
        return proved

    def read_note(self, note):
        """Origin, head and further lines of a story's checkpoint, which is signed once."""
        signed, head = Note(note), signed_head(note)
        if [f"{signed.text}\n\u2014 {name} {base64.b64encode(raw).decode()}\n" for name, raw in signed.signatures] != [note]:
            raise ValueError("the checkpoint was not made for this story")
        if self.seen is not None and not self.heads:
            raise ValueError("a story has no checkpoint with cosignatures: name one with --tree-head")
        if self.key is not None:
            Auditor([]).check_signature(note, self.key)
            if not self.heads:
                self.heads = [(head["treeSize"], head["rootHash"])]
        origin, _, _, *further = signed.text.split("\n")[:-1]
        return origin, head, further

    def check_complete(self, name):
        """What a complete history proves, in words."""
        check = CompleteCheck(self.prove)
        try:
            self.take_lines(name, check)
            check.finish()
        except ValueError as error:
            check.gaps.append(str(error))
        if check.more_gaps:
            check.gaps.append(f"and {check.more_gaps} more runs of revisions are missing")
        if check.gaps:
            raise ValueError("\nauditor: ".join(check.gaps))
        return check.conclusion

    def take_lines(self, name, check):
        chain, closed = bytes(32), False
        for number, line in lines_of(name):
            value = object_of(line, f"line {number}")
            if closed:
                raise ValueError(f"line {number} comes after the line that closes the file")
            if number == 1:
                check.begin(value)
                self.check_own_head(value["treeHead"])
            elif "chain" in value:
                expect("the chain", value, {"chain": chain.hex()})
                closed = True
            else:
                check.take(value)
            chain = sha256(chain, line)
        if not closed:
            raise ValueError("the line that closes the file is missing")

    def check_own_head(self, head):
        """Checks the tree head of the file, with the checkpoint that it has."""
        stated, note = stated_head(head, "the file")
        if not self.heads and note is not None and (self.seen is not None or self.key is not None):
            if self.seen is not None:
                self.seen(stated, note)
            else:
                Auditor([]).check_signature(note, self.key)
            self.heads = [(stated["treeSize"], stated["rootHash"])]
        return self.check_head(stated)

    def check_head(self, head):
        size, root = member(head, "treeSize", int, "the tree head of the file"), head.get("rootHash")
        roots = [root for known, root in self.heads if known == size]
        if not self.heads:
            raise ValueError("a proof proves something only against a tree head: name one with --tree-head")
        if not roots:
            sizes = ", ".join(str(size) for size, _ in self.heads)
            raise ValueError(f"the file is about the first {size} events, and the tree head is of {sizes}")
        if root not in roots:
            raise ValueError(f"the root of {size} events is {excerpt(root)}, and should be {roots[0]}")
        return size

    def prove(self, line):
        """The parts of the leaf of a line, and the payload where the line has it, both proved."""
        proof = member(line, "proof", dict, "a line")
        text = {**proof, **(member(line, "disclosed", dict, "a line") if "disclosed" in line else {})}
        leaf, payload = self.check_proof(text)
        if leaf is None:
            raise ValueError(f"the leaf of event {proof['seq']} is missing")
        return leaf, payload

    def check_entry(self, entry, counts):
        if counts is not None and "before" in entry:
            expect("the counts before", entry["before"], counts)
        event = member(entry, "event", dict, "a line")
        leaf, payload = self.prove(entry)
        if payload is not None:
            wanted = event_of(kind_of(leaf.kind), leaf.seq, leaf.revision, leaf.recorded, leaf.occurred, payload)
            return expect(f"event {leaf.seq}", event, wanted)
        expect("the event", event.get("seq"), leaf.seq)
        expect("the kind", event.get("kind"), kind_of(leaf.kind))
        expect("the revision", event.get("revision", 0), leaf.revision)
        expect("the time", milliseconds(member(event, "recordedAt", str, "an event")), leaf.recorded)
        expect("the time of occurrence", milliseconds(event.get("occurredAt")), leaf.occurred)

    def check_growth(self, proof):
        """That the log only grew between two trees, of which one is a kept one (RFC 9162, 2.1.4.2)."""
        first, second = (member(proof, name, int, "the proof") for name in ("first", "second"))
        old, new = (hash_of(proof, name, "the proof") for name in ("firstRoot", "secondRoot"))
        nodes = [hash_from(node, "a node of the path") for node in member(proof, "path", list, "the proof")]
        if not any(head in self.heads for head in ((first, old.hex()), (second, new.hex()))):
            raise ValueError("neither tree of the proof has the size and the root of the tree head")
        if set(proof) - {"first", "second", "firstRoot", "secondRoot", "path"}:
            raise ValueError("a proof of growth has no other members")
        if not grew(first, old, second, new, nodes):
            raise ValueError("the path does not lead from the first tree to the second")

    def check_proof(self, proof):
        """The parts of the leaf and the payload, where the proof has them."""
        for name in proof:
            if name not in self.MEMBERS:
                raise ValueError(f"a proof has no member {excerpt(name)}")
        # What is handed out of an event's content can be checked only as a whole.
        if "payload" in proof or "salt" in proof:
            for name in ("leaf", "salt", "payload"):
                if name not in proof:
                    raise ValueError(f"{name} is missing where content is disclosed")
        what = "the proof"
        size, index = self.check_head(proof), member(proof, "leafIndex", int, what)
        expect("the event of the proof", proof.get("seq"), index + 1)
        nodes = [hash_from(node, "a node of the path") for node in member(proof, "path", list, what)]
        leaf_hash, leaf, payload = hash_of(proof, "leafHash", what), None, None
        if "leaf" in proof:
            raw = base64_of(proof, "leaf", what)
            if len(raw) != LEAF.size + 32:
                raise ValueError(f"a leaf has {LEAF.size + 32} bytes")
            expect("the leaf's hash", sha256(b"\0", raw).hex(), leaf_hash.hex())
            leaf = Leaf(*LEAF.unpack(raw[: LEAF.size]))
            expect("the leaf's event", leaf.seq, proof["seq"])
            if leaf.seq > MOST_EVENTS:
                raise ValueError(f"no log has {leaf.seq} events")
            for time in (leaf.recorded, leaf.recorded if leaf.occurred == ABSENT else leaf.occurred):
                if not EARLIEST <= time <= LATEST:
                    raise ValueError("a time of the leaf lies outside of the years 0000 to 9999")
            if "payload" in proof:
                payload = base64_of(proof, "payload", what)
                expect("the digest", sha256(base64_of(proof, "salt", what), payload).hex(), raw[LEAF.size :].hex())
        expect("the way to the root", climb(leaf_hash, index, size, nodes).hex(), proof["rootHash"])
        return leaf, payload


def climb(node, index, size, nodes):
    """The root that a path leads to (RFC 9162, 2.1.3.2)."""
    if index >= size:
        raise ValueError(f"leaf {index} is not in a tree of {size} events")
    last = size - 1
    for sibling in nodes:
        if last == 0:
            raise ValueError("the path is too long")
        if index % 2 == 1 or index == last:
            node = sha256(b"\1", sibling, node)
            while index % 2 == 0 and index > 0:
                index, last = index // 2, last // 2
        else:
            node = sha256(b"\1", node, sibling)
        index, last = index // 2, last // 2
    if last != 0:
        raise ValueError("the path is too short")
    return node


def grew(first, old, second, new, nodes):
    """Whether a path leads from a tree to a later one."""
    if first > second:
        return False
    if first == second:
        return not nodes and old == new
    if first == 0:
        return not nodes and old == sha256()
    # A complete first tree is a node of the second.
    if first & (first - 1) == 0:
        nodes = [old, *nodes]
    if not nodes:
        return False
    index, last = first - 1, second - 1
    while index % 2 == 1:
        index, last = index // 2, last // 2
    one = other = nodes[0]
    for sibling in nodes[1:]:
        if last == 0:
            return False
        if index % 2 == 1 or index == last:
            one, other = sha256(b"\1", sibling, one), sha256(b"\1", sibling, other)
            while index % 2 == 0 and index > 0:
                index, last = index // 2, last // 2
        else:
            other = sha256(b"\1", other, sibling)
        index, last = index // 2, last // 2
    return last == 0 and (one, other) == (old, new)


# --- The program --------------------------------------------------------------------------------------------------------


def objects(name):
    for number, line in lines_of(name):
        yield object_of(line, f"line {number} of {name}")


def check(options):
    heads = heads_of(options)
    key = text_of(options.public_key) if options.public_key else None

    own = (lambda head, note: print(seen_words(head, note, options, key))) if options.witness_policy else None
    files = [HandedOut(heads, key, own) for _ in options.check]
    proved = sum(file.check_file(name) for file, name in zip(files, options.check))
    complete = [HandedOut(heads, key, own).check_complete(name) for name in options.complete]
    for words in complete:
        print(f"complete: {words}")
    for file in files:
        if file.decision is not None:
            print(f"decision: {file.decision}")
        if file.story is not None:
            print(f"story: {file.story}")
    if options.check:
        named = "the tree heads of the files, which witnesses have seen" if own else "the tree heads that the key signed in the files"
        print(f"{proved} events proved by " + (f"{len(heads)} tree heads" if heads else named))


def check_log(options):
    heads = heads_of(options)
    auditor = Auditor(lines_of(options.log))
    for head in heads:
        auditor.check_head(head)
    proofs = growths = 0
    for name in options.proof:
        for proof in objects(name):
            auditor.check_proof(proof)
            proofs += 1
    for name in options.consistency:
        for proof in objects(name):
            auditor.check_growth(proof)
            growths += 1
    reported = sum(auditor.check_report(objects(name)) for name in options.report)
    print(
        f"{len(auditor.leaves)} events, {len(options.tree_head)} tree heads, {proofs} proofs, {growths} consistency "
        f"proofs, {reported} reported events, {len(options.checkpoint)} signed checkpoints"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log", nargs="?", help="an export; - for standard input; not needed for --check and --complete")
    for option in ("check", "complete", "tree-head", "proof", "consistency", "report", "checkpoint"):
        parser.add_argument(f"--{option}", action="append", default=[], metavar="FILE")
    parser.add_argument("--public-key", metavar="FILE")
    parser.add_argument("--witness-policy", metavar="FILE", help="what each tree head must satisfy (C2SP tlog-policy)")
    options = parser.parse_args()
    if not (options.log or options.check or options.complete):
        parser.error("name an export, or a file with --check or --complete")
    try:
        (check if options.check or options.complete else check_log)(options)
    except (OSError, ValueError) as error:
        sys.exit(f"auditor: {error}")
    except Exception as error:
        # Files of somebody else have any form: what was not foreseen is no proof either.
        sys.exit(f"auditor: not in the form that Traylog writes ({type(error).__name__}: {excerpt(error)})")


if __name__ == "__main__":
    main()

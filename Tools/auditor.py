#!/usr/bin/env python3
"""Verifies what Traylog proves, knowing nothing of Traylog but its documents.

It makes the Merkle tree of an exported log (Docs/internals/format.md, "Export" and "Leaf") by the recursive definitions of RFC 9162,
section 2.1, and holds tree heads, proofs, reports and signed checkpoints against it. With --check it holds proofs, reports
and a person's file against tree heads alone, without a log; with --complete it also checks that a history is complete
(complete_history.py). Python's standard library is all it needs, and the `openssl` program for signatures.

    auditor.py --complete ann.jsonl --tree-head head.json
    auditor.py --check proof.json --check report.jsonl --checkpoint checkpoint --public-key audit.key.pub
    traylog export | auditor.py - --tree-head head.json --proof proof.json --consistency growth.json
    auditor.py log.jsonl --checkpoint checkpoint --public-key audit.key.pub --report report.jsonl
"""

import argparse
import base64
import collections
import datetime
import hashlib
import json
import struct
import subprocess
import sys
import tempfile

from complete_history import CompleteCheck

KINDS = (
    "notified traySeen marked allMarked muted unmuted snoozed woken edited retracted subscribed unsubscribed broadcast "
    "undone expired erased compacted held released lost acted reminded audited"
).split()
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def milliseconds(text):
    """The milliseconds of an RFC 3339 time; the smallest number where there is none."""
    if text is None:
        return -(2**63)
    passed = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH
    return passed // datetime.timedelta(milliseconds=1)


def leaf(line):
    """The leaf of an exported event."""
    stored = line["stored"]
    if "digest" in stored:
        digest = base64.b64decode(stored["digest"])
    else:
        digest = sha256(base64.b64decode(stored["salt"]), base64.b64decode(stored["payload"]))
    header = (2, KINDS.index(line["kind"]) + 1, stored["stream"], line.get("revision", 0), line["seq"])
    times = (milliseconds(line["recordedAt"]), milliseconds(line.get("occurredAt")))
    return struct.pack("<BBIIQqq", *header, *times) + digest


def split(leaves):
    width = 1
    while 2 * width < len(leaves):
        width *= 2
    return leaves[:width], leaves[width:]


def root(leaves):
    if not leaves:
        return sha256()
    if len(leaves) == 1:
        return leaves[0]
    left, right = split(leaves)
    return sha256(b"\1", root(left), root(right))


def path(index, leaves):
    if len(leaves) == 1:
        return []
    left, right = split(leaves)
    if index < len(left):
        return path(index, left) + [root(right)]
    return path(index - len(left), right) + [root(left)]


def growth(first, leaves, whole=True):
    if first == len(leaves):
        return [] if whole else [root(leaves)]
    left, right = split(leaves)
    if first <= len(left):
        return growth(first, left, whole) + [root(right)]
    return growth(first - len(left), right, False) + [root(left)]


# Docs/internals/format.md, "Leaf", without the digest.
Leaf = collections.namedtuple("Leaf", "version kind stream revision seq recorded occurred")


class Auditor:
    def __init__(self, lines):
        self.leaves = [leaf(line) for line in lines]
        self.hashes = [sha256(b"\0", leaf) for leaf in self.leaves]
        self.roots = {}

    def root(self, size):
        if size > len(self.hashes):
            raise ValueError(f"the log has {len(self.hashes)} events, not {size}")
        if size not in self.roots:
            self.roots[size] = root(self.hashes[:size]).hex()
        return self.roots[size]

    def expect(self, what, found, wanted):
        if found != wanted:
            raise ValueError(f"{what} is {found}, and should be {wanted}")

    def check_head(self, head):
        self.expect(f"the root of {head['treeSize']} events", head["rootHash"], self.root(head["treeSize"]))

    def check_proof(self, proof):
        self.check_head(proof)
        index, size = proof["leafIndex"], proof["treeSize"]
        self.expect("the index", index, proof["seq"] - 1)
        self.expect(f"leaf {index}", base64.b64decode(proof["leaf"]), self.leaves[index])
        self.expect(f"the hash of leaf {index}", proof["leafHash"], self.hashes[index].hex())
        # The path to the root, computed from this proof alone.
        wanted = [node.hex() for node in path(index, self.hashes[:size])]
        self.expect(f"the path of leaf {index}", proof["path"], wanted)

    def check_growth(self, proof):
        first, second = proof["first"], proof["second"]
        self.expect(f"the root of {first} events", proof["firstRoot"], self.root(first))
        self.expect(f"the root of {second} events", proof["secondRoot"], self.root(second))
        wanted = growth(first, self.hashes[:second]) if 0 < first < second else []
        self.expect("the path", proof["path"], [node.hex() for node in wanted])

    def check_report(self, lines):
        head = lines[0]["treeHead"]
        self.check_head(head)
        for line in lines[1:]:
            self.check_proof(line["proof"])
            self.expect("the tree", line["proof"]["rootHash"], head["rootHash"])
            self.expect("the event", line["event"]["seq"], line["proof"]["seq"])
        return len(lines) - 1

    def check_checkpoint(self, note, key):
        head = signed_head(note)
        self.expect(f"the root of {head['treeSize']} events", head["rootHash"], self.root(head["treeSize"]))
        return self.check_signature(note, key)

    def check_signature(self, note, key):
        text, signatures = note.split("\n\n", 1)
        text += "\n"
        name, key_id, encoded = key.strip().split("+", 2)
        key_bytes = base64.b64decode(encoded)
        self.expect("the kind of the key", key_bytes[0], 1)
        self.expect("the key's id", key_id, sha256(name.encode(), b"\n", key_bytes).hex()[:8])
        for line in signatures.splitlines():
            dash, signer, signature = line.split(" ")
            raw = base64.b64decode(signature)
            if (dash, signer, raw[:4].hex()) == ("\u2014", name, key_id):
                return verify_ed25519(key_bytes[1:], raw[4:], text.encode())
        raise ValueError(f"{name} has not signed it")


class HandedOut:
    """Proofs, reports and a person's file, held against tree heads alone: no log, no store."""

    # Docs/internals/format/event.proto: the number and the JSON name of each text.
    TEXTS = {1: "user", 2: "topic", 3: "key", 4: "actor", 5: "device", 10: "thread", 11: "category", 12: "title", 13: "body",
             14: "summaryArgument", 19: "collapseKey", 33: "archive"}

    MEMBERS = {"seq", "leafIndex", "treeSize", "rootHash", "leafHash", "leaf", "path", "salt", "payload"}

    def __init__(self, heads):
        self.heads = {head["treeSize"]: head["rootHash"] for head in heads}

    def expect(self, what, found, wanted):
        if found != wanted:
            raise ValueError(f"{what} is {found}, and should be {wanted}")

    def check_file(self, name):
        """The number of events that are proved."""
        with open(name, "rb") as file:
            lines = file.read().split(b"\n")
        self.expect("the end", lines.pop(), b"")
        chain, proved, first, counts = bytes(32), 0, {}, None
        for number, line in enumerate(lines):
            value = json.loads(line)
            # Every byte counts: there is one way to write a line.
            written = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
            if "data" not in line.decode():
                self.expect(f"line {number + 1}", line, written)
            if number == 0 and "treeHead" in value:
                first, counts = value, value.get("before")
                head = value["treeHead"]
                self.expect("the root", head["rootHash"], self.heads.get(head["treeSize"]))
            elif "chain" in value:
                self.expect("the chain", value, {"chain": chain.hex()})
                self.expect("the line of the chain", number, len(lines) - 1)
            elif "leafIndex" in value:
                self.check_proof(value)
                proved += 1
            elif "event" in value and first.get("disclosed") and value.get("archived") and "proof" not in value:
                proved += 1
            elif "event" in value:
                self.check_entry(value, counts)
                counts = value.get("after")
                proved += 1
            elif "proof" in value:
                self.check_proof(value["proof"])
                proved += 1
            elif not first.get("disclosed"):
                raise ValueError(f"line {number + 1} is neither a proof nor an event")
            chain = sha256(chain, line)
        if first:
            if not first.get("complete"):
                self.expect("the number of events", proved, first["events"])
            if first.get("disclosed") and b"chain" not in lines[-1]:
                raise ValueError("the line that closes the file is missing")
        return proved

    def check_complete(self, name):
        """What a complete history proves, in words."""
        check = CompleteCheck(self.prove)
        try:
            self.take_lines(name, check)
            check.finish()
        except ValueError as error:
            check.gaps.append(str(error))
        if check.gaps:
            raise ValueError("\nauditor: ".join(check.gaps))
        return check.conclusion

    def take_lines(self, name, check):
        chain, closed = bytes(32), False
        with open(name, "rb") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip(b"\n")
                value = json.loads(line)
                if closed:
                    raise ValueError(f"line {number} comes after the line that closes the file")
                if number == 1:
                    check.begin(value)
                    self.check_head(value["treeHead"])
                elif "chain" in value:
                    self.expect("the chain", value, {"chain": chain.hex()})
                    closed = True
                else:
                    check.take(value)
                chain = sha256(chain, line)
        if not closed:
            raise ValueError("the line that closes the file is missing")

    def check_head(self, head):
        size, root = head["treeSize"], head["rootHash"]
        if size not in self.heads:
            sizes = ", ".join(str(size) for size in self.heads)
            raise ValueError(f"the file is about the first {size} events, and the tree head is of {sizes}")
        self.expect(f"the root of {size} events", root, self.heads[size])

    def prove(self, line):
        """The parts of the leaf of a line, and the payload where the line has it, both proved."""
        proof = line["proof"]
        text = {**proof, **line.get("disclosed", {})}
        self.check_proof(text)
        leaf = Leaf(*struct.unpack("<BBIIQqq", base64.b64decode(proof["leaf"])[:34]))
        return leaf, base64.b64decode(text["payload"]) if "payload" in text else None

    def check_entry(self, entry, counts):
        if counts is not None and "before" in entry:
            self.expect("the counts before", entry["before"], counts)
        proof, event = entry["proof"], entry["event"]
        text = {**proof, **entry.get("disclosed", {})}
        self.check_proof(text)
        self.expect("the event", event["seq"], proof["seq"])
        header = struct.unpack("<BBIIQqq", base64.b64decode(proof["leaf"])[:34])
        self.expect("the kind", KINDS.index(event["kind"]) + 1, header[1])
        times = (milliseconds(event["recordedAt"]), milliseconds(event.get("occurredAt")))
        self.expect("the revision", event.get("revision", 0), header[3])
        self.expect("the times", times, header[5:])
        if "payload" in text:
            found = {self.TEXTS[number]: value.decode() for number, value in fields(base64.b64decode(text["payload"]))
                     if number in self.TEXTS}
            shown = {name: event[name] for name in self.TEXTS.values() if isinstance(event.get(name), str)}
            self.expect("the texts", shown, found)

    def check_proof(self, proof):
        for name in proof:
            if name not in self.MEMBERS:
                raise ValueError(f"a proof has no member {name}")
        # What is handed out of an event's content can be checked only as a whole.
        if "payload" in proof or "salt" in proof:
            for name in ("leaf", "salt", "payload"):
                self.expect(f"whether {name} is there", name in proof, True)
        index, size = proof["leafIndex"], proof["treeSize"]
        self.expect("the root", proof["rootHash"], self.heads.get(size))
        self.expect("the path", proof["path"], [bytes.fromhex(node).hex() for node in proof["path"]])
        for name in ("leaf", "salt", "payload"):
            if name in proof:
                self.expect(name, proof[name], base64.b64encode(base64.b64decode(proof[name])).decode())
        self.expect("the index", index, proof["seq"] - 1)
        if "leaf" in proof:
            leaf = base64.b64decode(proof["leaf"], validate=True)
            self.expect("the leaf's hash", proof["leafHash"], sha256(b"\0", leaf).hex())
            self.expect("the leaf's event", struct.unpack("<Q", leaf[10:18])[0], proof["seq"])
        if "payload" in proof:
            digest = sha256(base64.b64decode(proof["salt"]), base64.b64decode(proof["payload"]))
            self.expect("the digest", leaf[34:], digest)
        found = climb(bytes.fromhex(proof["leafHash"]), index, size, [bytes.fromhex(node) for node in proof["path"]])
        self.expect("the way to the root", found.hex(), proof["rootHash"])


def climb(node, index, size, path):
    """The root that a path leads to (RFC 9162, 2.1.3.2)."""
    last = size - 1
    for sibling in path:
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


def fields(message):
    """The fields of a Protocol Buffers message that are bytes."""
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            varint()
        elif tag & 7 == 1:
            at += 8
        elif tag & 7 == 2:
            length = varint()
            yield tag >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field of type {tag & 7}")


def signed_head(note):
    """The tree head that a checkpoint says."""
    _, size, tree_root = note.split("\n")[:3]
    return {"treeSize": int(size), "rootHash": base64.b64decode(tree_root).hex()}


def verify_ed25519(key, signature, text):
    # The key as RFC 8410 wraps it.
    pem = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + key).decode()
    files = []
    for content in (f"-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n".encode(), signature, text):
        file = tempfile.NamedTemporaryFile()
        file.write(content)
        file.flush()
        files.append(file)
    names = [file.name for file in files]
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", names[0], "-rawin", "-sigfile", names[1], "-in", names[2]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def objects(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check(options):
    auditor = Auditor([])
    try:
        heads = [objects(name)[0] for name in options.tree_head]
        for name in options.checkpoint:
            with open(name, encoding="utf-8") as note, open(options.public_key, encoding="utf-8") as key:
                text = note.read()
                auditor.check_signature(text, key.read())
                heads.append(signed_head(text))
        proved = sum(HandedOut(heads).check_file(name) for name in options.check)
        complete = [HandedOut(heads).check_complete(name) for name in options.complete]
    except (KeyError, IndexError) as error:
        sys.exit(f"auditor: {type(error).__name__}: {error} is missing")
    except (ValueError, TypeError, AttributeError, struct.error, subprocess.CalledProcessError) as error:
        sys.exit(f"auditor: {error}")
    for words in complete:
        print(f"complete: {words}")
    if options.check:
        print(f"{proved} events proved by {len(heads)} tree heads")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("log", nargs="?", help="an export; - for standard input; not needed for --check and --complete")
    for option in ("check", "complete", "tree-head", "proof", "consistency", "report", "checkpoint"):
        parser.add_argument(f"--{option}", action="append", default=[], metavar="FILE")
    parser.add_argument("--public-key", metavar="FILE")
    options = parser.parse_args()
    if options.check or options.complete:
        return check(options)
    with sys.stdin if options.log == "-" else open(options.log, encoding="utf-8") as file:
        auditor = Auditor(json.loads(line) for line in file)
    try:
        for name in options.tree_head:
            auditor.check_head(objects(name)[0])
        proofs = [proof for name in options.proof for proof in objects(name)]
        for proof in proofs:
            auditor.check_proof(proof)
        growths = [proof for name in options.consistency for proof in objects(name)]
        for proof in growths:
            auditor.check_growth(proof)
        reported = sum(auditor.check_report(objects(name)) for name in options.report)
        for name in options.checkpoint:
            with open(name, encoding="utf-8") as note, open(options.public_key, encoding="utf-8") as key:
                auditor.check_checkpoint(note.read(), key.read())
    except (ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"auditor: {error}")
    print(
        f"{len(auditor.leaves)} events, {len(options.tree_head)} tree heads, {len(proofs)} proofs, {len(growths)} consistency "
        f"proofs, {reported} reported events, {len(options.checkpoint)} signed checkpoints"
    )


if __name__ == "__main__":
    main()

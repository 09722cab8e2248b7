"""Reports, decisions, complete histories and dossiers have a checkpoint with them that a quorum of witnesses has seen.

`check` and the independent checker need the policy alone, and refuse each file that was changed."""

import hashlib
import json
import os
import random
import subprocess
import time

from aics_tlog import parse_note, parse_vkey, verify_checkpoint
from served import Server
from test_witnesses import ORIGIN, Witnessed, auditor, until
from witnessed import PROGRAM, policy, traylog

COMMANDS = (
    {"kind": "notify", "user": "ann", "key": "deploy", "title": "Deploy?", "actions": [{"id": "yes", "label": "Yes"}]},
    {"kind": "notify", "user": "bob", "title": "Lunch?"},
    {"kind": "act", "user": "ann", "item": "deploy", "action": "yes", "asOf": 1},
    {"kind": "notify", "user": "ann", "title": "Build 17 failed"},
)


def closed(first, rest):
    """A file with another first line, whose last line, or seal, fits it: what a forger would make of it."""
    if b'"seal":' in first:
        body = first[: first.rindex(b',"seal":"')]
        return body + b',"seal":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'
    chain, lines = bytes(32), [first, *rest]
    if lines[-1].startswith(b'{"chain"'):
        for line in lines[:-1]:
            chain = hashlib.sha256(chain + line).digest()
        lines[-1] = b'{"chain":"' + chain.hex().encode() + b'"}'
    return b"".join(line + b"\n" for line in lines)


class Files(Witnessed):
    def setUp(self):
        super().setUp()
        self.own_witnesses = [self.own(f"own{number}") for number in range(3)]
        self.file = policy(self.path("policy"), self.public, self.own_witnesses, 2)
        self.verifies = [parse_vkey(one.key) for one in self.own_witnesses]

    def store(self, name="store"):
        path = self.path(name)
        traylog("--store", path, "append", "-", input="".join(json.dumps(command) + "\n" for command in COMMANDS))
        return path

    def have_seen(self, store):
        return traylog("--store", store, "tree-head", "--sign", self.key, "--witness-policy", self.file)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return path

    def stated(self, path):
        with open(path, "rb") as file:
            return json.loads(file.readline())["treeHead"]

    def check(self, path, *more, later=None):
        """Both checkers say that it is proved, and that the witnesses have seen it."""
        head = self.stated(path)
        found = verify_checkpoint(parse_note(head["checkpoint"]), parse_vkey(self.public), self.verifies, 2, expected_origin=ORIGIN)
        self.assertTrue(found.ok, found)
        if later is not None:
            self.assertEqual((found.size > head["treeSize"], "path" in head), (later, later))
        said = traylog("check", path, *more, "--witness-policy", self.file)
        self.assertRegex(said, rf"(?m)^signed by {ORIGIN}, seen by \d of 3 witnesses, the last \d+ s ago$")
        self.assertRegex(said, "(?m)^(true|complete): ")
        verdict = json.loads(traylog("check", path, *more, "--witness-policy", self.file, "--json"))
        self.assertEqual((verdict["ok"], verdict["signed"], verdict["witnesses"]["of"]), (True, True, 3), verdict)
        words = auditor(*self.asked(path, more), "--witness-policy", self.file)
        self.assertRegex(words, rf"signed by {ORIGIN}, seen by \d of 3 witnesses")
        return said

    @staticmethod
    def asked(path, more):
        return ("--complete", path) if "--complete" in more else ("--check", path)

    def refuse(self, data, *more, wanted=None):
        path = self.write("changed", data)
        said = traylog("check", path, *more, "--witness-policy", self.file, status=1)
        words = auditor(*self.asked(path, more), "--witness-policy", self.file, status=1)
        if wanted:
            self.assertIn(wanted, said)
            self.assertIn(wanted, words)

    def tamper(self, path, stranger, *more):
        """What a forger may change, with all that can be made to fit it made to fit."""
        with open(path, "rb") as file:
            first, *rest = file.read().splitlines()
        head = self.stated(path)
        text = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()
        self.assertIn(text, first)

        def other(**members):
            changed = {name: value for name, value in {**head, **members}.items() if value is not None}
            return closed(first.replace(text, json.dumps(changed, separators=(",", ":"), ensure_ascii=False).encode()), rest)

        lines = head["checkpoint"].splitlines(keepends=True)
        count = len(lines) - 5
        self.assertGreaterEqual(count, 2)
        # Too few cosignatures, none, and no checkpoint.
        seen = "seen by 1 of 3 witnesses, and the policy asks for more"
        self.refuse(other(checkpoint="".join(lines[: 6])), *more, wanted=seen)
        self.refuse(other(checkpoint="".join(lines[:5])), *more, wanted="seen by 0 of 3 witnesses")
        self.refuse(other(checkpoint=None, path=None), *more)
        # The checkpoint of another log, which the witnesses have not seen, or of which this one is no part.
        self.refuse(other(checkpoint=stranger), *more, wanted="does not follow from the tree head")
        self.refuse(other(rootHash="00" * 32), *more, wanted="does not follow from the tree head")
        self.refuse(other(treeSize=head["treeSize"] + 1), *more)
        if "path" in head:
            self.refuse(other(path=None), *more, wanted="does not follow from the tree head")
            self.refuse(other(path=["11" * 32, *head["path"][1:]]), *more, wanted="does not follow from the tree head")
        else:
            self.refuse(other(path=["11" * 32]), *more)
        # Any byte of the tree head, with the rest as it was.
        chance, start = random.Random(65), first.index(text)
        for place in chance.sample(range(start, start + len(text)), 6):
            changed = bytearray(first)
            changed[place] ^= 1 << chance.randrange(5)
            if b"\n" not in changed:
                self.refuse(b"".join(line + b"\n" for line in (bytes(changed), *rest)), *more)

    def test_of_the_program_are_proved_by_the_policy_alone(self):
        store, other = self.store(), self.store("other")
        # Before witnesses have seen it, a file has no checkpoint, and --witnessed refuses to make one.
        bare = traylog("--store", store, "audit", "ann", "--json", "--disclose")
        self.assertNotIn("checkpoint", bare)
        self.refuse(bare)
        traylog("--store", store, "audit", "ann", "--json", "--witnessed", status=74)
        self.have_seen(store)
        stranger = traylog("--store", other, "tree-head", "--sign", self.key)
        for words in (("audit", "ann", "--json"), ("audit", "ann", "--json", "--disclose"), ("decision", "ann", "deploy", "--json")):
            for more, later in ((), False), (("--as-of", "3"), True), (("--witnessed",), False):
                with self.subTest(words=words, more=more):
                    path = self.write("file", traylog("--store", store, *words, *more))
                    self.check(path, later=later)
                    if more != ("--witnessed",) and words[-1] != "--json" or words[0] == "decision" and not more:
                        self.tamper(path, stranger)
        # Later events are in no checkpoint yet: the file has none, and with --witnessed it ends before them.
        traylog("--store", store, "notify", "ann", "--title", "Later")
        self.assertNotIn("checkpoint", traylog("--store", store, "audit", "ann", "--json"))
        path = self.write("file", traylog("--store", store, "audit", "ann", "--json", "--witnessed"))
        self.check(path, later=False)
        self.assertEqual(self.stated(path)["treeSize"], 4)
        # A damaged checkpoint is no reason to refuse a report that asks for none.
        kept = os.path.join(store, "checkpoint.witnessed")
        with open(kept) as file:
            whole = file.read()
        for text in ("", whole[:40], whole.replace("\n4\n", "\n18446744073709551615\n")):
            self.write(kept, text)
            self.assertNotIn("checkpoint", traylog("--store", store, "audit", "ann", "--json"))
            run = subprocess.run(
                [PROGRAM, "--store", store, "audit", "ann", "--json", "--witnessed"], capture_output=True, text=True, timeout=60, check=False)
            self.assertIn(run.returncode, (65, 74), run.stderr)
            self.assertEqual(run.stdout, "")
        self.write(kept, whole)
        page = self.path("ann.html")
        traylog("--store", store, "audit", "ann", "--html", page, "--witnessed")
        with open(page) as file:
            self.assertIn("\u2014 own0.example", file.read())

    def test_of_one_event_are_proved_and_no_changed_byte_is(self):
        store = self.store()
        self.have_seen(store)
        for seq in (1, 3):
            proof = traylog("--store", store, "prove", str(seq), "--tlog-proof")
            path = self.write("one.tlog-proof", proof)
            said = traylog("check", path, "--witness-policy", self.file)
            self.assertIn(f"event {seq} proved", said)
            words = auditor("--check", path, "--witness-policy", self.file)
            self.assertIn("1 events proved", words)
            self.assertRegex(words, rf"signed by {ORIGIN}, seen by 3 of 3 witnesses")
            # Without two of the cosignatures.
            self.refuse("".join(proof.splitlines(keepends=True)[:-2]), wanted="seen by 1 of 3 witnesses")
            # Any byte above the signatures.
            end, chance = proof.index("\n\n\u2014"), random.Random(seq)
            for place in [0, *chance.sample(range(end), 10)]:
                data = bytearray(proof.encode())
                data[place] ^= 1 << chance.randrange(5)
                self.refuse(bytes(data))

    def test_of_a_person_wait_for_the_witnesses_of_their_last_event(self):
        store, other = self.store(), self.store("other")
        stranger = traylog("--store", other, "tree-head", "--sign", self.key)
        for words in (("audit", "ann", "--complete", "--purpose", "complaint"), ("dossier", "ann", self.path("dossier"))):
            with self.subTest(words=words):
                head = self.head(store)
                run = subprocess.Popen(
                    [PROGRAM, "--store", store, *words, "--witnessed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                until(lambda: self.head(store) == head + 1)
                time.sleep(0.5)
                self.assertIsNone(run.poll(), "it waits")
                self.have_seen(store)
                out, errors = run.communicate(timeout=60)
                self.assertEqual(run.returncode, 0, errors)
                path = self.write("file", out) if words[0] == "audit" else self.path("dossier", "dossier.jsonl")
                said = self.check(path, "--complete", later=False)
                self.assertIn("of ann, and no others", said)
                self.check(path, later=False)
                self.tamper(path, stranger, "--complete")
        # Without it nobody waits.
        self.assertNotIn("checkpoint", traylog("--store", store, "audit", "ann", "--complete"))

    @staticmethod
    def head(store):
        return json.loads(traylog("--store", store, "stats", "--json"))["head"]

    def test_of_the_server_have_it_too(self):
        server = self.server(self.file)
        for command in COMMANDS:
            server.perform(command)
        self.published(server, len(COMMANDS))
        answer = server.get("/v1/users/ann/audit", headers={"Traylog-Purpose": "test"})
        self.assertEqual(answer.status, 200, answer)
        self.check(self.write("audit", answer.body), later=False)
        answer = server.get("/v1/users/ann/audit?asOf=2")
        self.check(self.write("audit", answer.body), later=True)
        for name in ("complete-history", "dossier"):
            with self.subTest(name):
                answer = server.post(f"/v1/users/ann/{name}", {"purpose": "complaint", "witnessed": True})
                self.assertEqual(answer.status, 200, answer)
                self.check(self.write(name, answer.body), "--complete")
        store = os.path.join(server.directory, "store")
        for words in (("audit", "ann", "--complete", "--witnessed"), ("decision", "ann", "deploy", "--json", "--witnessed")):
            with self.subTest(words=words):
                path = self.write("file", traylog("--store", store, *words))
                self.check(path, *(("--complete",) if words[0] == "audit" else ()))

    def test_are_refused_by_a_server_without_witnesses_that_is_asked_for_them(self):
        server = self.stack.enter_context(Server())
        server.notify("ann", title="One")
        answer = server.post("/v1/users/ann/dossier", {"purpose": "x", "witnessed": True})
        self.assertEqual(answer.status, 400, answer)
        self.assertIn("--witness-policy", answer.json["detail"])
        self.assertEqual(server.get("/v1/tree-head").json["treeSize"], 1, "nothing was appended")

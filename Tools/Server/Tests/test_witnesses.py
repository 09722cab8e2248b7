"""Witnesses cosign the log's checkpoints, see a second log of the same name, and delay nobody; Traylog witnesses others' logs."""

import base64
import contextlib
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from aics_tlog import (
    Checkpoint, MerkleTree, format_vkey, parse_checkpoint, parse_note, parse_vkey, sign_checkpoint, verify_checkpoint, vkey_from_ed25519)
from aics_witness import WitnessClient, WitnessConflict, WitnessRejected
from consoled import Visitor, text_of
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from device import PROGRAM as TRAY, Device
from proofbundle.checkpoint import verify_witnessed_checkpoint
from proofbundle.tlogproof import parse_tlog_proof, verify_tlog_proof
from served import Server
from witnessed import PROGRAM, Aics, Hostile, Own, origin_hash, policy, post, reply, size_of, traylog

ORIGIN = "trays.example.org"
TOOLS = pathlib.Path(__file__).resolve().parents[2]


def until(found, seconds=20):
    """What `found` returns, once that is something."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return value


def auditor(*words, status=0):
    """What the independent checker says."""
    run = subprocess.run([sys.executable, TOOLS / "auditor.py", *words], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == status, run.stdout + run.stderr
    return run.stdout + run.stderr


class Witnessed(unittest.TestCase):
    """A directory with the log's key."""

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="traylog-witnesses."))
        self.key = self.path("log.key")
        self.public = traylog("keygen", self.key, "--name", ORIGIN).strip()

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def aics(self, name="aics"):
        return self.stack.enter_context(Aics(self.path(name), ORIGIN, self.public))

    def own(self, name="own"):
        return self.stack.enter_context(Own(self.path(name), [self.public], f"{name}.example"))

    def hostile(self, answer, name="hostile.example"):
        return self.stack.enter_context(Hostile(answer, name))

    def policy(self, witnesses, quorum, name="policy"):
        return policy(self.path(name), self.public, witnesses, quorum)

    def server(self, file, *options, directory=None):
        return self.stack.enter_context(
            Server("--checkpoint-key", self.key, "--witness-policy", file, "--witness-interval", "1s", *options, directory=directory))

    @staticmethod
    def overview(server):
        """The text of the console's first page."""
        server.url = f"http://127.0.0.1:{server.port}"
        visitor = Visitor(server)
        visitor.send("/sign-in", {"key": server.key})
        return text_of(visitor.get(""))

    def published(self, server, size):
        """The published checkpoint, once it has so many events."""
        def found():
            answer = server.get("/v1/checkpoint")
            return answer.body.decode() if answer.status == 200 and size_of(answer.body) >= size else None
        return until(found)


class TheServer(Witnessed):
    def test_publishes_the_checkpoint_that_two_of_three_witnesses_saw(self):
        aics, own = self.aics(), self.own()
        gone = self.own("gone")
        gone.end()
        server = self.server(self.policy([aics, own, gone], 2))
        for number in range(1, 4):
            server.notify("ann", title=f"Number {number}")
            note = self.published(server, number)
            # Programs that nobody here wrote say the same.
            found = verify_checkpoint(
                parse_note(note), parse_vkey(self.public), [parse_vkey(one.key) for one in (aics, own, gone)], 2, expected_origin=ORIGIN)
            self.assertTrue(found.ok, found)
            found = verify_witnessed_checkpoint(note, self.public, [aics.key, own.key], threshold=2, expected_origin=ORIGIN)
            self.assertTrue(found["ok"], found)
        self.assertIn("the witness w2 cannot be reached", self.overview(server))
        self.assertRegex(self.overview(server), r"seen by 2 of 3 witnesses, \d+ s ago")
        figures = server.get("/metrics").body.decode()
        for name, state in (("w0", 0), ("w1", 0), ("w2", 1)):
            self.assertIn(f'traylog_witness_state{{witness="{name}"}} {state}', figures.replace(".0\n", "\n"))
        self.assertIn("traylog_witnessed_head 3", figures)
        health = json.loads(traylog("--store", os.path.join(server.directory, "store"), "health", "--max-witness-age", "1h", "--json"))
        self.assertEqual((health["ok"], health["lastWitnessedHead"]), (True, 3), health)

    def test_gives_a_proof_that_others_verify(self):
        aics, own = self.aics(), self.own()
        file = self.policy([aics, own], "all")
        server = self.server(file)
        self.assertEqual(server.get("/v1/checkpoint").status, 503)
        self.assertEqual(server.notify("ann", title="Proved").status, 201)
        self.published(server, 1)
        server.notify("ann", title="Later")
        answer = server.get("/v1/proofs/1", headers={"Accept": "text/x.tlog.proof"})
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/x.tlog.proof"))
        proof = answer.body.decode()
        leaf = parse_tlog_proof(proof)["extra"]
        verdict = verify_tlog_proof(proof, leaf, self.public, [aics.key, own.key], threshold=2, expected_origin=ORIGIN)
        self.assertTrue(verdict["ok"], verdict)
        other = bytes([leaf[0] ^ 1]) + leaf[1:]
        self.assertFalse(verify_tlog_proof(proof, other, self.public, [aics.key, own.key], threshold=2)["ok"])
        with open(self.path("one.tlog-proof"), "w") as out:
            out.write(proof)
        said = traylog("check", self.path("one.tlog-proof"), "--witness-policy", file)
        self.assertIn("event 1 proved", said)
        self.assertRegex(said, rf"signed by {ORIGIN}, seen by 2 of 2 witnesses, the last \d+ s ago")
        # As JSON it is what it was.
        self.assertIn("leafHash", server.get("/v1/proofs/1").json)
        self.published(server, 2)
        said = traylog("--store", os.path.join(server.directory, "store"), "prove", "2", "--tlog-proof")
        verdict = verify_tlog_proof(
            said, parse_tlog_proof(said)["extra"], self.public, [aics.key, own.key], threshold=2, expected_origin=ORIGIN)
        self.assertTrue(verdict["ok"], verdict)
        answer = server.get("/v1/proofs/3", headers={"Accept": "text/x.tlog.proof"})
        self.assertIn(answer.status, (400, 404, 422), answer)

    def test_is_delayed_by_no_witness_that_misbehaves_and_names_each(self):
        def late(witness, handler, _, note):
            time.sleep(3)
            reply(handler, 200, witness.line(note))

        def twice(witness, handler, _, note):
            reply(handler, 200, witness.line(note, after=-60) + witness.line(note))

        def anothers(witness, handler, _, note):
            reply(handler, 200, witness.line(note, private=Ed25519PrivateKey.generate()))

        def strangers(witness, handler, _, note):
            reply(handler, 200, witness.line(note).replace(witness.name, "somebody.else"))

        def smaller(witness, handler, old, _):
            reply(handler, 409, f"{max(0, old - 1)}\n", "text/x.tlog.size")

        def endless(witness, handler, *_):
            handler.send_response(200)
            handler.send_header("Transfer-Encoding", "chunked")
            handler.end_headers()
            while True:
                handler.wfile.write(b"1\r\n.\r\n")
                handler.wfile.flush()
                time.sleep(0.2)

        def huge(witness, handler, *_):
            reply(handler, 200, "\u2014 a AAAA\n" * 1_000_000)

        def ahead(witness, handler, _, note):
            reply(handler, 200, witness.line(note, after=86_400))

        def numbers(witness, handler, *_):
            reply(handler, 409, "18446744073709551616\n", "text/x.tlog.size")

        def silent(witness, handler, *_):
            time.sleep(60)

        kinds = [late, twice, anothers, strangers, smaller, endless, huge, ahead, numbers, silent]
        witnesses = [self.hostile(kind, f"{kind.__name__}.example") for kind in kinds]
        own = self.own()
        server = self.server(policy(self.path("policy"), self.public, [own, *witnesses], 2))
        began = time.monotonic()
        server.notify("ann", title="First")
        note = self.published(server, 1)
        self.assertLess(time.monotonic() - began, 5, "somebody was waited for")
        self.assertTrue(verify_checkpoint(parse_note(note), parse_vkey(self.public), [parse_vkey(own.key)], 1).ok)
        # The late one still counts for the checkpoint it is about.
        until(lambda: "late.example" in server.get("/v1/checkpoint").body.decode())
        note = server.get("/v1/checkpoint").body.decode()
        self.assertEqual(note.count("\u2014 twice.example"), 1)
        for kind in (anothers, strangers, smaller, endless, huge, ahead, numbers, silent):
            self.assertNotIn(f"{kind.__name__}.example", note)
            name = f"w{kinds.index(kind) + 1}"
            until(lambda: f'"witness":"{name}","warning"' in server.logged(), 30)
        self.assertNotIn("knows another log", server.logged())
        self.assertEqual(server.get("/readyz").json["status"], "ok")

    def test_publishes_after_a_kill_what_it_published_before_and_nothing_without_a_quorum(self):
        own = [self.own(f"own{number}") for number in range(3)]
        file = self.policy(own, 2)
        directory = self.path("lives")
        os.makedirs(directory)
        keys, chance, last = [parse_vkey(one.key) for one in own], random.Random(65), 0
        for life in range(12):
            with Server("--checkpoint-key", self.key, "--witness-policy", file, "--witness-interval", "1s", directory=directory) as server:
                for _ in range(chance.randint(1, 3)):
                    server.notify("ann", title=f"Life {life}")
                down = chance.choice(own + [None])
                if down:
                    down.end()
                deadline = time.monotonic() + chance.uniform(0.1, 1.5)
                while time.monotonic() < deadline:
                    answer = server.get("/v1/checkpoint")
                    if answer.status == 200:
                        found = verify_checkpoint(parse_note(answer.body.decode()), parse_vkey(self.public), keys, 2)
                        self.assertTrue(found.ok, found)
                        self.assertGreaterEqual(found.size, last)
                        last = found.size
                    time.sleep(0.02)
                self.assertNotIn("knows another log", server.logged())
                server.stop(9)
            if down:
                down.start()
        self.assertGreater(last, 0)

    def test_notices_a_second_log_within_an_interval_by_every_honest_witness_and_says_so_everywhere(self):
        aics, own, other = self.aics(), self.own(), self.own("other")
        # One that cosigns whatever it is sent, and one that is down, hide nothing.
        liar = self.hostile(lambda witness, handler, _, note: reply(handler, 200, witness.line(note)))
        gone = self.own("gone")
        file = self.policy([aics, own, other, liar, gone], 3)
        gone.end()
        with self.server(file) as first:
            for number in range(3):
                first.notify("ann", title=f"True {number}")
            true = self.published(first, 3)
        second = self.server(file, "--witness-interval", "3s", directory=tempfile.mkdtemp(dir=self.directory))
        began = time.monotonic()
        for number in range(5):
            second.notify("ann", title=f"Forged {number}")
        until(lambda: second.logged().count("knows another log of the name") == 3, 10)
        self.assertLess(time.monotonic() - began, 3 + 1.5, "it takes longer than an interval")
        for name in ("w0", "w1", "w2"):
            self.assertIn(f'"witness":"{name}","error":"the witness {name} knows another log', second.logged())
        self.assertEqual(second.get("/v1/checkpoint").status, 503)
        ready = second.get("/readyz")
        self.assertIn("witness", ready.json["problems"])
        figures = second.get("/metrics").body.decode().replace(".0\n", "\n")
        for name, state in (("w0", 2), ("w1", 2), ("w2", 2), ("w3", 0), ("w4", 1)):
            self.assertIn(f'traylog_witness_state{{witness="{name}"}} {state}', figures)
        self.assertRegex(figures, r'traylog_problem\{problem="witness"\} [1-9]')
        self.assertIn("knows another log of the name trays.example.org", self.overview(second))
        store = os.path.join(second.directory, "store")
        health = json.loads(traylog("--store", store, "health", "--json", status=1))
        self.assertIn("knows another log", health["problems"][0])
        # Both checkpoints are kept: what was not cosigned, and what the witness had cosigned.
        evidence = [name for name in os.listdir(store) if name.startswith("checkpoint.conflict-")]
        self.assertEqual(len(evidence), 3)
        with open(os.path.join(store, evidence[0])) as kept:
            forged, shown = re.fullmatch(r"(?s)(.*?\n\n\u2014 .*?\n)(trays.example.org\n.*)", kept.read()).groups()
        self.assertEqual(parse_checkpoint(parse_note(shown).text), parse_checkpoint(parse_note(true).text))
        for note in (forged, shown):
            self.assertTrue(verify_checkpoint(parse_note(note), parse_vkey(self.public)).ok)
        # Without the server: the exit status, and a sentence for each.
        run = subprocess.run(
            [PROGRAM, "--store", store, "tree-head", "--sign", self.key, "--witness-policy", file], capture_output=True, text=True,
            timeout=60, check=False)
        self.assertEqual((run.returncode, run.stdout), (1, ""), run.stderr)
        self.assertEqual(run.stderr.count("knows another log of the name"), 3, run.stderr)
        for witness in (own, other):
            self.assertIn("see", witness.said)
            self.assertEqual(size_of(witness.checkpoint(ORIGIN)), 3)
        evidence = json.loads(aics.run("evidence"))
        self.assertTrue(evidence)

    def test_does_not_start_with_a_policy_that_cannot_be_satisfied(self):
        own = self.own()
        own.url = ""
        for text, wanted in (
            (open(self.policy([own], 1)).read(), "no quorum"),
            (f"log {self.public}\nquorum nobody\n", "line 2"),
            ("quorum none\nquorum none\n", "line 2"),
        ):
            with open(self.path("bad"), "w") as out:
                out.write(text)
            with self.assertRaisesRegex(RuntimeError, wanted):
                self.server(self.path("bad"))


@unittest.skipUnless(TRAY, "TRAYLOG_TRAY does not name the program")
class TheDevice(Witnessed):
    def test_takes_a_log_that_a_quorum_has_seen_and_nothing_from_any_other(self):
        own, stranger = self.own(), self.own("stranger")
        file = self.policy([own], 1)
        server = self.server(file)
        server.notify("ann", title="First")
        self.published(server, 1)
        with Device(server, "ann", options=["--witness-policy", file, "--max-witness-age", "60"]) as device:
            self.assertTrue(device.wait())
            server.notify("ann", title="Second")
            self.assertTrue(device.wait())
            self.assertEqual(device.ask("tray")["total"], 2)
            # Nobody sees the log any more, and it goes on: what is newer than the checkpoint is shown until the age is reached.
            own.end()
            server.notify("ann", title="Third")
            self.assertTrue(device.wait())
            self.assertEqual(device.ask("tray")["total"], 3)
        other = self.policy([stranger], 1, "other")
        with Device(server, "ann", options=["--witness-policy", other]) as device:
            self.assertFalse(device.wait(seconds=2))
            tray = device.ask("tray")
            self.assertEqual((tray["total"], tray["status"]), (0, "failing"), tray)
            connections = lambda: [event.get("connection", {}) for event in device.events]
            device.until(lambda: any(each.get("error") == "unwitnessed" for each in connections()))
            said = next(each["message"] for each in connections() if each.get("error") == "unwitnessed")
            self.assertIn("seen by 0 of 1 witness, and the policy asks for more", said)
        with open(self.path("bad"), "w") as out:
            out.write("quorum nobody\n")
        with Device(server, "ann", options=["--witness-policy", self.path("bad")]) as device:
            self.assertEqual(device.process.wait(timeout=20), 65)
            self.assertIn("line 1 names what no line before defines", device.process.stderr.read())


class TheCommandLine(Witnessed):
    def test_has_a_tree_head_cosigned_without_a_server_and_prints_none_without_a_quorum(self):
        aics, own = self.aics(), self.own()
        gone = self.own("gone")
        gone.end()
        store = self.path("store")
        traylog("--store", store, "notify", "ann", "--title", "One")
        two = self.policy([aics, own, gone], 2)
        note = traylog("--store", store, "tree-head", "--sign", self.key, "--witness-policy", two)
        self.assertTrue(verify_checkpoint(parse_note(note), parse_vkey(self.public), [parse_vkey(aics.key), parse_vkey(own.key)], 2).ok)
        traylog("--store", store, "notify", "ann", "--title", "Two")
        every = self.policy([aics, own, gone], "all", "all")
        self.assertEqual(traylog("--store", store, "tree-head", "--sign", self.key, "--witness-policy", every, status=74), "")
        with open(os.path.join(store, "checkpoint.witnessed")) as kept:
            self.assertEqual(size_of(kept.read()), 1)

    def test_checks_tree_heads_against_a_policy(self):
        own = [self.own(f"own{number}") for number in range(3)]
        store, file = self.path("store"), self.policy(own, 2)
        traylog("--store", store, "notify", "ann", "--title", "One")
        head = self.path("head")
        with open(head, "w") as out:
            out.write(traylog("--store", store, "tree-head", "--sign", self.key, "--witness-policy", file))
        with open(self.path("proof"), "w") as out:
            out.write(traylog("--store", store, "prove", "1", "--json"))
        said = traylog("check", self.path("proof"), "--tree-head", head, "--witness-policy", file)
        self.assertRegex(said, rf"(?m)^signed by {ORIGIN}, seen by 3 of 3 witnesses, the last \d+ s ago$")
        self.assertIn("seen by 3 of 3", traylog("--store", store, "verify", "--tree-head", head, "--witness-policy", file))
        # The independent checker says the same.
        sentence = re.search("signed by .* witnesses", said)[0]
        self.assertIn(sentence, auditor("--check", self.path("proof"), "--tree-head", head, "--witness-policy", file))
        # Without the lines of two witnesses it is no quorum, and of another log it is nothing.
        lines = open(head).read().splitlines(keepends=True)
        with open(self.path("fewer"), "w") as out:
            out.write("".join(lines[:-2]))
        said = traylog("check", self.path("proof"), "--tree-head", self.path("fewer"), "--witness-policy", file, status=1)
        wanted = "the tree head of 1 events does not count: seen by 1 of 3 witnesses, and the policy asks for more"
        self.assertIn(wanted, said)
        self.assertIn(wanted, auditor("--check", self.path("proof"), "--tree-head", self.path("fewer"), "--witness-policy", file, status=1))
        stranger = traylog("keygen", self.path("other.key"), "--name", ORIGIN).strip()
        other = policy(self.path("other"), stranger, own, 2)
        said = traylog("check", self.path("proof"), "--tree-head", head, "--witness-policy", other, status=1)
        wanted = f"the tree head of 1 events does not count: the key {ORIGIN} has not signed it"
        self.assertIn(wanted, said)
        self.assertIn(wanted, auditor("--check", self.path("proof"), "--tree-head", head, "--witness-policy", other, status=1))


class TheWitness(Witnessed):
    """`traylog witness`, with logs and clients that others wrote."""

    def setUp(self):
        super().setUp()
        self.private, self.origin = Ed25519PrivateKey.generate(), "aics.example/log"
        self.log = format_vkey(vkey_from_ed25519(self.origin, self.private.public_key()))
        self.witness = self.stack.enter_context(Own(self.path("witness"), [self.log], "own.example"))

    def note(self, tree, size=None):
        size = tree.size if size is None else size
        head = Checkpoint(origin=self.origin, size=size, root=tree.root(size))
        return sign_checkpoint(head, self.private, self.origin).to_bytes()

    def client(self):
        return self.stack.enter_context(WitnessClient(self.witness.url, self.witness.key))

    def test_cosigns_a_log_made_with_aics_tlog_and_refuses_its_fork(self):
        tree, client = MerkleTree(), self.client()
        for number in range(20):
            tree.extend(b"%d" % index for index in range(number * 3, number * 3 + 3))
            lines = client.submit(self.note(tree), tree.consistency_proof)
            self.assertIn("own.example", lines)
            note = self.note(tree).decode() + lines
            self.assertTrue(verify_checkpoint(parse_note(note), parse_vkey(self.log), [parse_vkey(self.witness.key)], 1).ok)
        fork = MerkleTree([b"forged"] * 80)
        with self.assertRaises((WitnessRejected, WitnessConflict)):
            client.submit(self.note(fork), fork.consistency_proof)
        self.assertIn(origin_hash(self.origin) + ".unproved", self.witness.said)
        self.assertEqual(size_of(self.witness.checkpoint(self.origin)), 60)

    def test_only_two_trees_of_one_size_are_kept_as_a_proof_against_a_log(self):
        tree, client = MerkleTree(b"%d" % index for index in range(10)), self.client()
        client.submit(self.note(tree, 5), tree.consistency_proof)
        # A stranger's: the log's own checkpoint, and a proof that is none.
        for size in (5, 10):
            body = "old 5\n" + base64.b64encode(bytes(32)).decode() + "\n\n" + self.note(tree, size).decode()
            self.assertEqual(post(f"{self.witness.url}/add-checkpoint", body.encode())[0], 422)
        self.assertNotIn(".conflict", self.witness.said)
        fork = MerkleTree([b"forged"] * 5)
        self.assertEqual(post(f"{self.witness.url}/add-checkpoint", b"old 5\n\n" + self.note(fork))[0], 422)
        self.assertIn(origin_hash(self.origin) + ".conflict", self.witness.said)

    def test_answers_each_request_as_the_specification_says(self):
        tree = MerkleTree(b"%d" % index for index in range(10))
        five, ten = self.note(tree, 5).decode(), self.note(tree).decode()
        lines = "".join(f"{base64.b64encode(one).decode()}\n" for one in tree.consistency_proof(5, 10))
        stranger = sign_checkpoint(
            Checkpoint(origin=self.origin, size=5, root=tree.root(5)), Ed25519PrivateKey.generate(), self.origin).to_bytes().decode()
        unknown = five.replace(self.origin, "unknown.example/log")
        for body, status, wanted in (
            ("", 400, None), ("old 0\n", 400, None), (f"old x\n\n{five}", 400, None), (f"old 00\n\n{five}", 400, None),
            (f"old 18446744073709551616\n\n{five}", 400, None), (f"old 6\n\n{five}", 400, None),
            ("old 0\n" + "A" * 43 + "=\n" + f"\n{five}", 422, None), ("old 0\n" + ("A" * 43 + "=\n") * 64 + f"\n{five}", 400, None),
            (f"old 0\n\n{unknown}", 404, None), (f"old 0\n\n{stranger}", 403, None),
            (f"old 0\n\n{five.replace('AAAA', 'BBBB') if 'AAAA' in five else five[:-8] + 'AAAA' + five[-4:]}", 403, None),
            (f"old 3\n\n{five}", 409, "0\n"), (f"old 0\n\n{five}", 200, None), (f"old 0\n\n{five}", 409, "5\n"),
            (f"old 5\n\n{five}", 200, None), (f"old 5\n\n{ten}", 422, None), (f"old 5\n{lines}\n{ten}", 200, None),
            (f"old 5\n\n{five}", 409, "10\n"), ("x" * 70_000, 413, None),
        ):
            with self.subTest(body[:40]):
                found, headers, text = post(f"{self.witness.url}/add-checkpoint", body.encode())
                self.assertEqual((found, wanted), (status, text if wanted else None), text)
                if status == 409:
                    self.assertEqual(headers["Content-Type"], "text/x.tlog.size")

    def test_has_on_disk_what_it_answered_whenever_it_is_killed(self):
        tree, chance, answered = MerkleTree(), random.Random(7), 0
        for life in range(40):
            timer = threading.Timer(chance.uniform(0.001, 0.1), self.witness.process.kill)
            timer.start()
            client = WitnessClient(self.witness.url, self.witness.key, max_attempts=1, timeout=5)
            try:
                while True:
                    tree.append(b"%d" % tree.size)
                    client.submit(self.note(tree), tree.consistency_proof)
                    answered = tree.size
            except Exception:
                pass  # it was killed
            client.close()
            timer.join()
            self.witness.process.wait(timeout=20)
            self.witness.process.stdout.close()
            self.witness.start()
            kept = self.witness.checkpoint(self.origin)
            self.assertGreaterEqual(size_of(kept) if kept else 0, answered, f"life {life}")
        self.assertGreater(answered, 40)

    def test_does_not_go_on_without_its_state(self):
        self.witness.end()
        os.rename(self.witness.state, self.witness.state + ".lost")
        words = ["witness", "--key", self.path("witness", "key"), "--logs", self.witness.logs, "--state", self.witness.state]
        traylog(*words, "--listen", "127.0.0.1:0", status=65)
        os.rename(self.witness.state + ".lost", self.witness.state)
        traylog(*words, "--listen", "127.0.0.1:0", "--new", status=74)
        traylog("keygen", self.path("another"), "--witness", "--name", "own.example")
        words[2] = self.path("another")
        traylog(*words, "--listen", "127.0.0.1:0", status=74)

    def test_answers_others_while_some_say_nothing(self):
        silent = [socket.create_connection(("127.0.0.1", self.witness.port)) for _ in range(60)]
        for number, one in enumerate(silent):
            one.send(b"POST /add-checkpoint HTTP/1.1\r\nContent-Length: 5\r\n\r\n"[:number])
        tree = MerkleTree([b"one"])
        began = time.monotonic()
        self.assertIn("own.example", self.client().submit(self.note(tree), tree.consistency_proof))
        self.assertLess(time.monotonic() - began, 3)
        for one in silent:
            one.close()


if __name__ == "__main__":
    unittest.main()

"""Lives of logs and their witnesses: kills, partitions, witnesses with bad habits, and power cuts.

A seed decides; a failure names it, and TRAYLOG_WITNESS_SEED repeats it."""

import base64
import json
import os
import pathlib
import random
import shutil
import subprocess
import threading
import time
import unittest

import pytest
from aics_tlog import (
    Checkpoint, MerkleTree, format_vkey, parse_checkpoint, parse_note, parse_vkey, sign_checkpoint, verify_checkpoint, vkey_from_ed25519)
from aics_witness import WitnessClient
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from served import Server
from test_witnesses import ORIGIN, TOOLS, Witnessed
from witnessed import PROGRAM, Own, Unsteady, origin_hash, policy, post, size_of, traylog

IS_NIGHTLY = os.environ.get("TRAYLOG_TESTS") == "nightly"


class Lives(Witnessed):
    """A log with three witnesses of which two are a quorum, and a forged log of the same name and key."""

    COUNT = 200 if IS_NIGHTLY else 12

    @pytest.mark.timeout(3_600 if IS_NIGHTLY else 300)
    def test_publish_no_checkpoint_without_a_quorum_and_one_history_alone(self):
        seed = int(os.environ.get("TRAYLOG_WITNESS_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"TRAYLOG_WITNESS_SEED={seed}")
        try:
            self.live(random.Random(seed))
        except AssertionError as error:
            raise AssertionError(f"TRAYLOG_WITNESS_SEED={seed}: {error}") from error

    def live(self, chance):
        self.own_witnesses = [self.own(f"own{number}") for number in range(3)]
        networks = [self.stack.enter_context(Unsteady(one, random.Random(chance.random()))) for one in self.own_witnesses]
        file = policy(self.path("policy"), self.public, networks, 2)
        self.verifies = [parse_vkey(one.key) for one in self.own_witnesses]
        self.homes = [self.path("true"), self.path("forged")]
        self.stores = [os.path.join(home, "store") for home in self.homes]
        for home in self.homes:
            os.makedirs(home)
        self.kept, self.roots, self.seen = {}, {}, {}
        for life in range(self.COUNT):
            store = int(life > 0 and chance.random() < 0.25)
            for network in networks:
                network.is_cut = chance.random() < 0.2
            killed = [one for one in self.own_witnesses if chance.random() < 0.2]
            timers = [threading.Timer(chance.uniform(0, 0.5), one.process.kill) for one in killed]
            for timer in timers:
                timer.start()
            (self.serve if chance.random() < 0.5 else self.sign)(store, file, chance, f"life {life}")
            for timer in timers:
                timer.join()
            for one in killed:
                one.process.wait(timeout=20)
                one.process.stdout.close()
                one.start()
            self.check_published(store, life)
            for one in self.own_witnesses:
                self.follow(one)
        # Any two quorums of two among three have a witness in common: only one history was ever published.
        self.assertLessEqual(len(self.seen), 1, self.seen)
        if IS_NIGHTLY:
            self.assertGreater(len(set(self.seen[0])), 30)
            self.assertEqual(set().union(*(network.done for network in networks)), {*Unsteady.HABITS, "well"})

    def serve(self, store, file, chance, title):
        """A server, which is killed at some moment of a round."""
        options = "--checkpoint-key", self.key, "--witness-policy", file, "--witness-interval", "1s"
        with Server(*options, directory=self.homes[store]) as server:
            server.notify("ann", title=f"{title} of {store}")
            deadline, last = time.monotonic() + chance.uniform(0.05, 2.5), 0
            while time.monotonic() < deadline:
                answer = server.get("/v1/checkpoint")
                self.assertIn(answer.status, (200, 503))
                if answer.status == 200:
                    size = self.verified(answer.body.decode(), store)
                    self.assertGreaterEqual(size, last)
                    last = size
                time.sleep(0.02)
            server.stop(9)

    def sign(self, store, file, chance, title):
        """The program, which may be killed, too."""
        traylog("--store", self.stores[store], "notify", "ann", "--title", f"{title} of {store}")
        run = subprocess.Popen(
            [PROGRAM, "--store", self.stores[store], "tree-head", "--sign", self.key, "--witness-policy", file],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(chance.uniform(0, 0.2), run.kill) if chance.random() < 0.3 else None
        if timer:
            timer.start()
        note, words = run.communicate(timeout=60)
        if timer:
            timer.join()
        self.assertIn(run.returncode, (0, 1, 74, -9), words)
        if note:
            self.verified(note, store)
        elif run.returncode != -9:
            self.assertTrue(words, "no checkpoint, and no reason")

    def verified(self, note, store):
        """The size of what was published."""
        found = verify_checkpoint(parse_note(note), parse_vkey(self.public), self.verifies, 2, expected_origin=ORIGIN)
        self.assertTrue(found.ok, found)
        self.seen.setdefault(store, []).append(found.size)
        return found.size

    def check_published(self, store, life):
        """What the store keeps as published has its quorum, whenever it was written, and is of its log."""
        path = os.path.join(self.stores[store], "checkpoint.witnessed")
        if not os.path.exists(path):
            return
        with open(path) as file:
            note = file.read()
        self.verified(note, store)
        head = parse_checkpoint(parse_note(note).text)
        self.assertEqual(self.root(self.stores[store], head.size), head.root.hex(), f"life {life}")

    def follow(self, witness):
        """What a witness cosigned is of one history, and only grows."""
        note, before = witness.checkpoint(ORIGIN), self.kept.get(witness.directory)
        if before:
            self.assertIsNotNone(note)
            old, new = (parse_checkpoint(parse_note(one).text) for one in (before, note))
            self.assertGreaterEqual(new.size, old.size)
            if old.size == new.size:
                self.assertEqual(old.root, new.root)
            # The store whose tree has the new head has the old one, too.
            stores = [store for store in self.stores if self.root(store, new.size) == new.root.hex()]
            self.assertIn(old.root.hex(), [self.root(store, old.size) for store in stores])
        self.kept[witness.directory] = note or before

    def root(self, store, size):
        """The root of a store's tree, in hexadecimal digits; None for more events than it has."""
        if self.roots.get((store, size)) is None:
            run = subprocess.run(
                [PROGRAM, "--store", store, "tree-head", "--as-of", str(size), "--json"], capture_output=True, text=True, timeout=60,
                check=False)
            self.roots[store, size] = json.loads(run.stdout)["rootHash"] if run.returncode == 0 else None
        return self.roots[store, size]


class Disk:
    """What may be on a disk: what was synced, surely, and any part of the rest, in its order."""

    def __init__(self):
        # A file: its bytes that are synced, and those that were written; of a directory its names. The root has always been there.
        self.names, self.kept_names, self.changes = {}, {}, []
        self.answers = 0

    def take(self, line):
        kind, *rest = line.split()
        if kind == "make":
            if rest[0] not in self.names:
                self.name(rest[0], [b"", b""])
        elif kind == "empty":
            if rest[0] in self.names:
                self.names[rest[0]][1] = b""
            else:
                self.name(rest[0], [b"", b""])
        elif kind == "write":
            file, offset, data = self.names[rest[0]], int(rest[1]), bytes.fromhex(rest[2] if len(rest) > 2 else "")
            file[1] = file[1][:offset].ljust(offset, b"\0") + data + file[1][offset + len(data):]
        elif kind == "sync":
            if rest[0] in self.names:
                self.names[rest[0]][0] = self.names[rest[0]][1]
            # The names in a directory.
            self.changes = [change for change in self.changes if not self.keep(change, rest[0])]
        elif kind == "rename":
            file = self.names.pop(rest[0])
            self.names[rest[1]] = file
            self.changes.append((rest[0], rest[1], file))
        elif kind == "remove":
            self.changes.append((rest[0], None, self.names.pop(rest[0])))
        elif kind == "answer":
            self.answers += 1

    def name(self, path, file):
        self.names[path] = file
        self.changes.append((None, path, file))

    def keep(self, change, folder):
        """Whether a change is of names in a directory, which is on the disk then."""
        old, new, _ = change
        if os.path.dirname(new or old) != folder:
            return False
        self.apply(change, self.kept_names)
        return True

    @staticmethod
    def apply(change, names):
        old, new, file = change
        if old:
            names.pop(old, None)
        if new:
            names[new] = file

    def cut(self, chance):
        """The files after a power cut: each a path and its bytes."""
        names = dict(self.kept_names)
        for change in self.changes[: chance.choice((0, len(self.changes), chance.randint(0, len(self.changes))))]:
            self.apply(change, names)
        found = {}
        for path, (kept, written) in names.items():
            torn = written[: chance.randint(0, len(written))] + kept[len(written):]
            found[path] = chance.choice((kept, written, torn)) if kept != written else kept
        # What is in a directory whose name is lost is lost, too.
        return {path: data for path, data in found.items() if os.path.dirname(path) in names or path.count("/") == self.depth}

    depth = 0


@unittest.skipUnless(shutil.which("cc"), "needs cc, to compile what kills and records")
class Deaths(Witnessed):
    """Kills at each operation on a file, and power cuts: a disk loses what was not synced."""

    def setUp(self):
        super().setUp()
        self.private, self.origin = Ed25519PrivateKey.generate(), "aics.example/log"
        self.log = format_vkey(vkey_from_ed25519(self.origin, self.private.public_key()))

    def note(self, tree, size=None):
        size = tree.size if size is None else size
        head = Checkpoint(origin=self.origin, size=size, root=tree.root(size))
        return sign_checkpoint(head, self.private, self.origin).to_bytes()

    def library(self, source):
        library = self.path("library.so")
        subprocess.run(
            ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, source, "-lpthread"], check=True)
        return library

    def test_kill_a_program_that_publishes_nothing_without_its_quorum_and_nothing_by_halves(self):
        kills = self.library(TOOLS.parent / "Tests/Torture/kills.c")
        own = [self.own(f"own{number}") for number in range(2)]
        file, store = policy(self.path("policy"), self.public, own, "all"), self.path("store")
        keys, words = [parse_vkey(one.key) for one in own], ("tree-head", "--sign", self.key, "--witness-policy", file)
        traylog("--store", store, "notify", "ann", "--title", "First")
        traylog("--store", store, *words)
        killed = 0
        for effect in (0, 1, 2) if IS_NIGHTLY else (2,):
            for operation in range(1, 100):
                traylog("--store", store, "notify", "ann", "--title", "Next")
                run = subprocess.run(
                    [PROGRAM, "--store", store, *words], capture_output=True, text=True, timeout=60, check=False,
                    env={**os.environ, "LD_PRELOAD": kills, "KILL": f"{store} {operation} {effect}"})
                with open(os.path.join(store, "checkpoint.witnessed")) as kept:
                    found = verify_checkpoint(parse_note(kept.read()), parse_vkey(self.public), keys, 2, expected_origin=ORIGIN)
                self.assertTrue(found.ok, f"operation {operation}, effect {effect}: {found}")
                if run.stdout:
                    self.assertEqual(size_of(run.stdout), found.size)
                if run.returncode == 0:
                    break
                self.assertEqual(run.returncode, -9, run.stderr)
                killed += 1
        self.assertGreaterEqual(killed, 5)

    def test_kill_a_witness_that_has_on_disk_what_it_answered(self):
        kills = self.library(TOOLS.parent / "Tests/Torture/kills.c")
        witness, tree = self.stack.enter_context(Own(self.path("witness"), [self.log])), MerkleTree()
        witness.end()
        answered, killed = 0, 0
        for effect in (0, 1, 2) if IS_NIGHTLY else (1, 2):
            for operation in range(1, 100):
                try:
                    witness.start(LD_PRELOAD=kills, KILL=f"{witness.state} {operation} {effect}")
                except RuntimeError:
                    continue  # it was killed before it listened
                tree.append(b"%d" % tree.size)
                client = WitnessClient(witness.url, witness.key, max_attempts=1, timeout=5)
                is_killed = False
                try:
                    client.submit(self.note(tree), tree.consistency_proof)
                    answered = tree.size
                except Exception:
                    is_killed = True
                client.close()
                witness.end()
                kept = witness.checkpoint(self.origin)
                self.assertGreaterEqual(size_of(kept) if kept else 0, answered, f"operation {operation}, effect {effect}")
                if not is_killed:
                    break
                killed += 1
        self.assertGreaterEqual(killed, 8)

    def test_cut_the_power_of_a_witness_that_has_what_it_cosigned(self):
        library, trace = self.library(pathlib.Path(__file__).resolve().parent / "trace.c"), self.path("trace")
        home = self.path("witness")
        witness = self.stack.enter_context(Own(home, [self.log], LD_PRELOAD=library, TRACE=f"{home} {trace}"))
        tree, sizes, client = MerkleTree(), [], WitnessClient(witness.url, witness.key)
        self.addCleanup(client.close)
        for number in range(12 if IS_NIGHTLY else 6):
            tree.extend(b"%d" % leaf for leaf in range(number * 3, number * 3 + 1 + number % 3))
            client.submit(self.note(tree), tree.consistency_proof)
            sizes.append(tree.size)
        witness.end()
        with open(trace) as file:
            lines = file.read().splitlines()
        self.assertEqual(sum(line.startswith("answer") for line in lines), len(sizes))
        seed = int(os.environ.get("TRAYLOG_WITNESS_SEED") or random.SystemRandom().randrange(1 << 32))
        print(f"TRAYLOG_WITNESS_SEED={seed}")
        chance = random.Random(seed)
        cuts = self.cuts(lines, home, sizes, chance, f"TRAYLOG_WITNESS_SEED={seed}")
        self.assertGreater(len(cuts), len(lines))
        # A witness that did not sync the file, or its name, would be caught.
        for forgotten in (f"sync {home}/state", f"sync {home}/state/{origin_hash(self.origin)}.partial"):
            self.assertIn(forgotten, lines)
            with self.assertRaises(AssertionError):
                self.cuts([line for line in lines if line != forgotten], home, sizes, chance, "")
        # It goes on, and cosigns no other history.
        for moment, size, files in chance.sample(cuts, 40 if IS_NIGHTLY else 6):
            with self.subTest(moment=moment, seed=seed):
                self.goes_on(witness, tree, size, files, home)

    def cuts(self, lines, home, sizes, chance, note):
        """Each moment with what it may leave, in several ways: what was answered is there, whole."""
        disk, found = Disk(), []
        Disk.depth = home.count("/") + 1
        path = os.path.join(home, "state", origin_hash(self.origin))
        for moment, line in enumerate(lines):
            disk.take(line)
            for _ in range(20):
                files = disk.cut(chance)
                answered = sizes[disk.answers - 1] if disk.answers else 0
                self.assertGreaterEqual(self.size(files.get(path)), answered, f"{note}: after {line[:100]}")
                found.append((moment, answered, files))
        return found

    @staticmethod
    def size(data):
        """How many events a checkpoint in a file has; 0 for a file that is missing, or has none."""
        try:
            return size_of(data.decode()) if data else 0
        except ValueError:
            return 0

    def goes_on(self, witness, tree, size, files, home):
        state = self.path(f"cut-{time.monotonic_ns()}")
        os.makedirs(state)
        for path, data in files.items():
            name = os.path.relpath(path, os.path.join(home, "state"))
            if name != "." and not name.startswith(".."):
                with open(os.path.join(state, name), "wb") as file:
                    file.write(data)
        if not os.path.exists(os.path.join(state, "witness")):
            self.assertEqual(size, 0, "what was cosigned is lost")
            return
        witness.start(state=state)
        try:
            if size:
                fork = MerkleTree([b"forged"] * (size + 5))
                for old in range(size + 1):
                    lines = "".join(f"{line}\n" for line in (self.encoded(fork, old)))
                    status, _, _ = post(f"{witness.url}/add-checkpoint", f"old {old}\n{lines}\n".encode() + self.note(fork))
                    self.assertIn(status, (409, 422))
            client = WitnessClient(witness.url, witness.key)
            self.assertIn("own.example", client.submit(self.note(tree), tree.consistency_proof))
            client.close()
        finally:
            witness.end()

    @staticmethod
    def encoded(tree, old):
        return [base64.b64encode(one).decode() for one in tree.consistency_proof(old, tree.size)] if 0 < old < tree.size else []


if __name__ == "__main__":
    unittest.main()

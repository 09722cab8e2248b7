"""Proofs in the browser: right ones verify, and whatever is changed is refused; operations with their confirmations."""

import base64
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
import unittest

from aics_tlog import cosignature_vkey, format_vkey, sign_cosignature
from browsed import BrowserCase
from consoled import Visitor, console_server, text_of
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from auditor import Note
from witness_policy import Policy, key_of

# Every byte of what is proved, changed by one bit.
TAMPER = r"""
const done = arguments[arguments.length - 1];
const [assets, given] = arguments;
(async () => {
  const proof = await import(`${assets}/proof.js`);
  const { seq, head } = given;
  const path = given.proof.path;
  const sound = { seq, proof: given.proof, disclosure: given.disclosure, head };
  const leaf = await proof.checkEvent(sound);
  const counts = { sound: leaf.seq === seq ? 1 : 0, tried: 0, accepted: [] };
  const flip = (bytes, at, bit) => Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ (1 << bit) : byte));
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const hex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
  const refused = async (name, changed) => {
    counts.tried += 1;
    try {
      const all = { ...sound, ...changed };
      await proof.checkEvent(all);
      await proof.checkSize(all.head, { ...given.last, treeSize: all.head.size, leafIndex: all.head.size - 1 });
      counts.accepted.push(name);
    } catch (failure) {
      if (!(failure instanceof proof.Unproved)) counts.accepted.push(`${name}: ${failure}`);
    }
  };
  for (const part of ["salt", "payload"]) {
    const bytes = proof.fromBase64(given.disclosure[part]);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = base64(flip(bytes, at, at % 8));
      await refused(`${part} ${at}`, { disclosure: { ...given.disclosure, [part]: changed } });
    }
    await refused(`${part} short`, { disclosure: { ...given.disclosure, [part]: base64(bytes.slice(1)) } });
  }
  const leafBytes = proof.fromBase64(given.proof.leaf);
  for (let at = 0; at < leafBytes.length; at += 1) {
    await refused(`leaf ${at}`, { proof: { ...given.proof, leaf: base64(flip(leafBytes, at, at % 8)) } });
  }
  const text = (bytes) => proof.hex(bytes);
  for (let step = 0; step < path.length; step += 1) {
    for (let at = 0; at < 32; at += 1) {
      const changed = path.map((hash, index) => (index === step ? text(flip(hex(hash), at, at % 8)) : hash));
      await refused(`path ${step} ${at}`, { proof: { ...given.proof, path: changed } });
    }
    await refused(`path without ${step}`, { proof: { ...given.proof, path: path.filter((_, index) => index !== step) } });
    await refused(`path twice ${step}`, { proof: { ...given.proof, path: [...path.slice(0, step), ...path.slice(step)].concat(path[step]) } });
  }
  for (let at = 0; at < 32; at += 1) {
    await refused(`root ${at}`, { head: { ...head, root: text(flip(hex(head.root), at, at % 8)) } });
    await refused(`leaf hash ${at}`, { proof: { ...given.proof, leafHash: text(flip(hex(given.proof.leafHash), at, at % 8)) } });
  }
  if (!(await proof.checkSize(head, given.last))) counts.accepted.push("the size is not checked");
  for (const size of [head.size - 2, head.size - 1, head.size + 1, head.size + 8, 2 * head.size, 128]) {
    await refused(`size ${size}`, { head: { ...head, size } });
    await refused(`size ${size} everywhere`, { head: { ...head, size }, proof: { ...given.proof, treeSize: size } });
  }
  await refused("another event", { seq: seq + 1 });
  await refused("index", { proof: { ...given.proof, leafIndex: given.proof.leafIndex + 1 } });

  // The signed checkpoint.
  await proof.checkSignature(given.note, given.key);
  const note = new TextEncoder().encode(given.note);
  for (let at = 0; at < note.length; at += 1) {
    counts.tried += 1;
    const changed = new TextDecoder().decode(flip(note, at, at % 7));
    try {
      await proof.checkSignature(changed, given.key);
      counts.accepted.push(`note ${at}`);
    } catch { /* refused */ }
  }
  const name = given.key.split("+");
  const key = proof.fromBase64(name.slice(2).join("+"));
  for (let at = 0; at < key.length; at += 1) {
    counts.tried += 1;
    try {
      await proof.checkSignature(given.note, `${name[0]}+${name[1]}+${base64(flip(key, at, at % 8))}`);
      counts.accepted.push(`key ${at}`);
    } catch { /* refused */ }
  }

  // Consistency between every two sizes, and each byte of it.
  for (const growth of given.growths) {
    const [first, second] = [{ size: growth.first, root: growth.firstRoot }, { size: growth.second, root: growth.secondRoot }];
    try {
      await proof.checkGrowth(first, second, growth.path);
      counts.sound += 1;
    } catch (failure) {
      counts.accepted.push(`sound growth ${growth.first} ${growth.second} refused: ${failure}`);
    }
    const wrong = async (what, ...changed) => {
      counts.tried += 1;
      try {
        await proof.checkGrowth(...changed);
        counts.accepted.push(`growth ${growth.first} ${growth.second} ${what}`);
      } catch { /* refused */ }
    };
    if (growth.first === 0 || growth.first === growth.second) continue;
    for (let at = 0; at < 32; at += 5) {
      await wrong(`first ${at}`, { ...first, root: text(flip(hex(first.root), at, 1)) }, second, growth.path);
      await wrong(`second ${at}`, first, { ...second, root: text(flip(hex(second.root), at, 1)) }, growth.path);
      for (let step = 0; step < growth.path.length; step += 1) {
        const changed = growth.path.map((hash, index) => (index === step ? text(flip(hex(hash), at, 1)) : hash));
        await wrong(`path ${step} ${at}`, first, second, changed);
      }
    }
    await wrong("short", first, second, growth.path.slice(1));
    await wrong("long", first, second, [...growth.path, growth.path[0] ?? first.root]);
  }
  return counts;
})().then(done, (failure) => done({ failure: `${failure} ${failure.stack}` }));
"""


# What the browser says about signed tree heads and policies.
WITNESSES = r"""
const done = arguments[arguments.length - 1];
const [assets, cases, now] = arguments;
(async () => {
  const { checkWitnesses } = await import(`${assets}/witnesses.js`);
  const { Unproved } = await import(`${assets}/proof.js`);
  const said = [];
  for (const [note, policy, key] of cases) {
    try {
      said.push(await checkWitnesses(note, policy, key, now));
    } catch (failure) {
      said.push(failure instanceof Unproved ? null : `${failure} ${failure.stack}`);
    }
  }
  return said;
})().then(done, (failure) => done(`${failure} ${failure.stack}`));
"""


class ProofCase(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = console_server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.server.perform(*({"kind": "notify", "user": f"user {n % 7}", "title": f"Item {n} <b>\u202e", "key": f"k{n}", "actor": "bob",
                              "data": {"n": n, "text": "</pre><script>"}} for n in range(70)))
        cls.server.perform({"kind": "markAll", "user": "user 1", "as": "read"}, {"kind": "seeTray", "user": "user 2"},
                           {"kind": "mute", "user": "user 2", "thread": "x"})
        cls.browser.sign_in(cls.server.url, cls.server.keys["operator"])

    def open(self, path):
        self.browser.open(f"{self.server.url}/console{path}")

    def tearDown(self):
        self.assertEqual([entry for entry in self.browser.messages() if "410 (Gone)" not in entry["message"]], [])


class VerifyTests(ProofCase):
    def verdict(self):
        self.browser.one("[data-run]").click()
        return self.browser.wait("((line) => line && `${line.className}: ${line.textContent}`)"
                                 "(document.querySelector('.checks .verdict'))")

    def test_right_proofs_verify_and_each_changed_byte_is_refused(self):
        self.open("/tree")
        get = self.server.get
        head = get("/v1/tree-head").json
        given = {
            "seq": 30, "head": {"size": head["treeSize"], "root": head["rootHash"]}, "proof": get("/v1/proofs/30").json,
            "last": get(f"/v1/proofs/{head['treeSize']}").json,
            "disclosure": self.browser.driver.execute_async_script(
                "fetch('/console/events/30/disclosure').then((a) => a.json()).then(arguments[0])"),
            "note": get("/v1/checkpoint").body.decode(),
            "key": self.browser.run("return document.querySelector('[data-tree]').dataset.key"),
            "growths": [get(f"/v1/proofs/consistency?first={first}&second={second}").json
                        for first, second in ((0, 7), (1, 2), (3, 70), (4, 8), (6, 7), (8, 64), (33, 64), (64, 65), (70, 70))],
        }
        assets = self.browser.run("return document.body.dataset.assets")
        counts = self.browser.driver.execute_async_script(TAMPER, assets, given)
        self.assertEqual(counts.get("accepted"), [], counts)
        self.assertEqual(counts["sound"], 1 + len(given["growths"]))
        self.assertGreater(counts["tried"], 700)

    def test_events_of_all_kinds_verify_against_a_kept_head(self):
        self.open("/tree")
        self.browser.one("[data-keep]").click()
        self.browser.wait("document.querySelectorAll('[data-kept] tbody tr').length === 1")
        size = self.server.get("/v1/tree-head").json["treeSize"]
        for seq in (1, 35, size - 2, size - 1, size):
            self.open(f"/events/{seq}")
            verdict = self.verdict()
            self.assertRegex(verdict, r"^good verdict: Proved", seq)
            self.assertNotIn("match the proved content", self.browser.text(), "the steps are folded")
            self.browser.one("[data-steps] summary").click()
            self.assertIn("The fields on this page match the proved content", self.browser.text())

    def test_the_servers_word_is_called_so_and_a_wrong_head_refused(self):
        self.open("/events/2")
        self.browser.run("document.querySelector('[data-against]').value = 'server'")
        self.assertIn("the server shows now", self.verdict())
        path = os.path.join(self.server.directory, "head.json")
        head = self.server.get("/v1/tree-head").json
        for root, words in ((head["rootHash"], "Proved"), ("0" * 64, "Not proved")):
            with open(path, "w") as file:
                json.dump({**head, "rootHash": root}, file)
            self.open("/events/2")
            self.browser.one("[data-file]").send_keys(path)
            self.browser.wait("document.querySelector('[data-against]').options[0].textContent.includes('from the file')")
            self.assertIn(words, self.verdict())

    def test_a_page_that_shows_something_else_is_found(self):
        self.open("/events/2")
        self.browser.run("[...document.querySelectorAll('.fields > div')].find((row) => row.firstChild.textContent === 'title')"
                         ".lastChild.textContent = 'Something else'")
        self.assertIn("Not proved: the payload has title", self.verdict())

    def test_two_heads_are_compared_and_a_third_log_is_found(self):
        self.open("/tree")
        self.browser.run("localStorage.clear()")
        first = self.server.get("/v1/tree-head?asOf=20").json
        path = os.path.join(self.server.directory, "old.json")
        for root, words in ((first["rootHash"], "Proved: the log of"), ("1" * 64, "Not proved")):
            with open(path, "w") as file:
                json.dump({**first, "rootHash": root}, file)
            self.open("/tree")
            self.browser.run("localStorage.clear()")
            self.open("/tree")
            self.browser.one("[data-import]").send_keys(path)
            self.browser.wait("document.querySelectorAll('[data-kept] tbody tr').length === 1")
            self.browser.one("[data-kept] input").click()
            self.browser.one("[data-compare]").click()
            self.browser.wait(f"document.querySelector('[data-checks]').textContent.includes({words!r})")
        self.browser.one("[data-keep]").click()
        self.browser.wait("document.querySelector('[data-kept]').textContent.includes('signed by')")


def verifies(key, raw, message):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(raw, message)
    except InvalidSignature:
        return False
    return True


class Witness:
    def __init__(self, name):
        self.name, self.private = name, Ed25519PrivateKey.generate()
        self.key = format_vkey(cosignature_vkey(name, self.private.public_key()))

    def line(self, head, origin, time, change=None):
        """A cosignature as a line of a note; with a bit changed, that of another tree head."""
        _, signed = sign_cosignature(self.private, self.name, time, origin, head["treeSize"], bytes.fromhex(head["rootHash"]))
        raw = bytearray(signed.key_id + signed.signature)
        if change is not None:
            raw[change // 8] ^= 1 << change % 8
        return f"\u2014 {self.name} {base64.b64encode(raw).decode()}\n"


class WitnessTests(ProofCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.witnesses = [Witness(f"w{number}.example") for number in range(3)]
        cls.head, cls.note = cls.server.get("/v1/tree-head").json, cls.server.get("/v1/checkpoint").body.decode()
        cls.origin = cls.note.split("\n")[0]
        cls.browser.open(f"{cls.server.url}/console/tree")
        cls.key = cls.browser.run("return document.querySelector('[data-tree]').dataset.key")

    def cosigned(self, *times):
        """The checkpoint with cosignatures, made so many seconds ago."""
        now = int(time.time())
        lines = (witness.line(self.head, self.origin, now - age) for witness, age in zip(self.witnesses, times))
        return self.note + "".join(lines)

    def policy(self, quorum=2):
        names = "".join(f"witness {witness.name[:2]} {witness.key}\n" for witness in self.witnesses)
        return f"log {self.key}\n{names}group all {quorum} w0 w1 w2\nquorum all\n"

    def written(self, name, text):
        path = os.path.join(self.server.directory, name)
        pathlib.Path(path).write_text(text)
        return path

    def test_browser_and_checker_say_the_same_of_any_policy_and_any_cosignatures(self):
        seed = random.randrange(1 << 32)
        chance, now = random.Random(seed), int(time.time())
        stranger = Witness("stranger.example")
        cases = [(self.cosigned(40, 50), self.policy(), ""), (self.cosigned(40), self.policy(), self.key)]
        for _ in range(300):
            note = self.note
            for witness in chance.choices([*self.witnesses, stranger], k=chance.randrange(6)):
                change = chance.randrange(76 * 8) if chance.random() < 0.05 else None
                note += witness.line(self.head, self.origin, now - chance.choice((40, 500, 7_200, 400_000, -200, -400)), change)
            lines = [f"log {self.key}"]
            for number, witness in enumerate(self.witnesses):
                lines.append(f"witness{chance.choice((' ', '  '))}w{number} {witness.key} http://w/".replace("  ", " \t"))
            lines += [
                f"group one {chance.choice(('any', 'all', '1', '2'))} w0 w1", f"group two {chance.choice(('any', 'all', '2', '3', '0'))} one w2",
                "# a comment", "", f"quorum {chance.choice(('w0', 'one', 'two', 'none', 'two'))}"]
            for _ in range(chance.choice((0, 0, 0, 0, 1))):
                at = chance.randrange(len(lines))
                wrong = (
                    lines[at - 1], f"log {stranger.key}", "quorum none", "group two any one", f"witness x {self.key}", "witness w0",
                    lines[at].replace("+", "-", 1), lines[at] + "\x01", lines[at].upper(), "group more any w7 w8", lines[at] + " more")
                lines[at] = chance.choice(wrong)
            if chance.random() < 0.1:
                lines.pop(chance.randrange(len(lines)))
            cases.append((note, "\n".join(lines), chance.choice(("", "", "", self.key, self.key, stranger.key))))
        said = []
        for note, policy, key in cases:
            try:
                log = key_of(key) if key else None
                said.append(Policy(policy.encode()).check(Note(note), note.split("\n")[0], verifies, log, now))
            except ValueError:
                said.append(None)
        assets = self.browser.run("return document.body.dataset.assets")
        shown = self.browser.driver.execute_async_script(WITNESSES, assets, cases, now)
        self.assertIsInstance(shown, list, shown)
        for case, own, other in zip(cases, shown, said):
            self.assertEqual(own, other, (seed, case))
        self.assertEqual(said[:2], [f"signed by {self.origin}, seen by 2 of 3 witnesses, the last 40 s ago", None])
        self.assertGreater(sum(sentence is not None for sentence in said), 30, seed)
        self.assertGreater(said.count(None), 30, seed)

    def test_a_kept_policy_asks_each_signed_tree_head_for_its_quorum(self):
        self.open("/tree")
        self.browser.run("localStorage.clear()")
        self.open("/tree")
        self.browser.one("[data-policy]").send_keys(self.written("no-policy", "quorum nobody\n"))
        self.browser.wait("document.querySelector('[data-checks]').textContent.includes('The policy cannot be used: this is no policy of witnesses: line 1')")
        self.browser.one("[data-policy]").send_keys(self.written("policy", self.policy()))
        self.browser.wait("document.querySelector('[data-has-policy]').textContent.includes('It names 3 witnesses.')")
        for text, words in ((self.cosigned(90, 40), "seen by 2 of 3 witnesses, the last 4"), (self.cosigned(40), "the policy asks for more")):
            self.browser.run("localStorage.removeItem('traylog.heads')")
            path = self.written("checkpoint", text)
            self.open("/tree")
            self.browser.one("[data-import]").send_keys(path)
            self.browser.wait(f"document.querySelector('[data-kept]').textContent.includes({words!r})")
            self.open("/events/2")
            self.browser.one("[data-run]").click()
            verdict = self.browser.wait("((line) => line && `${line.className}: ${line.textContent}`)(document.querySelector('.checks .verdict'))")
            self.assertRegex(verdict, "^good verdict: Proved" if "2 of" in words else "^bad verdict: Not proved: the checkpoint is seen by 1 of 3")
        # The server's own word has no witnesses here, and does not count.
        self.browser.run("document.querySelector('[data-against]').value = 'server'")
        self.browser.one("[data-run]").click()
        self.browser.wait("document.querySelector('.checks .verdict').textContent.includes('seen by 0 of 3')")
        self.open("/tree")
        self.browser.one("[data-no-policy]").click()
        self.browser.wait("document.querySelector('[data-has-policy]').hidden")
        self.browser.wait("document.querySelector('[data-kept]').textContent.includes('give the public key below')")


class OperationTests(ProofCase):
    def outcome(self):
        self.browser.wait("document.body.dataset.page === 'run' && document.querySelector('[data-job]').dataset.state !== 'running'")
        return self.browser.text()

    def fill(self, **fields):
        for name, value in fields.items():
            self.browser.one(f"[name={name}]").send_keys(value)

    def test_an_erasure_wants_the_name_again_and_leaves_a_proof_without_content(self):
        self.server.notify("leaver", title="A secret")
        seq = self.server.get("/v1/users/leaver/tray").json["newest"]
        self.open("/operations")
        self.assertIn("It does not reach", self.browser.text())
        self.fill(user="leaver", confirm="leavr")
        self.browser.one(".danger").click()
        # What is wrong stands beside the field, and nothing that was typed is lost.
        self.browser.wait("document.querySelector('[name=confirm][aria-invalid]') !== null")
        self.assertIn("Must be the user's name again", self.browser.run("return document.querySelector('#confirm-error').textContent"))
        self.assertEqual(self.browser.run("return ['user', 'confirm'].map((name) => document.querySelector(`[name=${name}]`).value)"),
                         ["leaver", "leavr"])
        self.browser.messages()
        self.browser.console = []
        self.open("/operations")
        self.fill(user="leaver", confirm="leaver")
        self.browser.one(".danger").click()
        self.assertIn("pseudonym", self.outcome())
        job = self.browser.run("return document.querySelector('[data-job]').dataset.job")
        self.open(f"/events/{self.server.get(f'/v1/admin/jobs/{job}').json['outcome']['seq']}")
        self.assertIn(f"actor\n{self.server.keys['operator'].split('_')[1]}", self.browser.text())
        self.open(f"/events/{seq}")
        self.assertIn("was erased", self.browser.text())
        self.browser.one("[data-run]").click()
        self.browser.wait("document.querySelector('.checks').textContent.includes('Not provable: the content')")
        self.assertNotIn("A secret", self.browser.text())

    def test_a_compaction_shows_its_numbers_then_wants_the_floor(self):
        head = self.server.get("/v1/tree-head").json["treeSize"]
        self.server.perform({"kind": "markAll", "user": "user 3", "as": "deleted"}, {"kind": "notify", "user": "user 3"})
        self.open("/operations")
        self.fill(before=str(head + 2))
        self.browser.one("[aria-labelledby=compact-title] button").click()
        self.assertIn("dropped", self.outcome())
        self.assertEqual(self.server.get("/v1/admin/stats").json["floor"], 0)
        self.fill(confirm=str(head + 2))
        self.browser.one(".danger").click()
        self.browser.wait("!document.querySelector('.danger')")
        self.assertIn("Compaction", self.outcome())
        self.assertEqual(self.server.get("/v1/admin/stats").json["floor"], head + 2)
        self.open(f"/events/{self.server.get('/v1/tree-head').json['treeSize']}")
        self.assertIn(f"actor\n{self.server.keys['operator'].split('_')[1]}", self.browser.text())
        # Item 4 was of user 3, and deleted.
        self.open("/events/4")
        self.assertRegex(self.browser.text(), "left the log with a compaction")
        self.browser.one("[data-run]").click()
        self.browser.wait("document.querySelector('.checks').textContent.includes('Not provable: the content')")
        self.open("")
        self.browser.wait("!document.querySelector('main').textContent.includes('looking in the log') || (location.reload(), false)")

    def test_a_verification_and_a_backup_say_what_came_of_them(self):
        self.open("/operations")
        self.browser.one("form[action$='/verifications'] button").click()
        self.assertRegex(self.outcome(), r"Verification[\s\S]*done")
        directory = os.path.join(self.server.directory, "copies", "first")
        os.makedirs(os.path.dirname(directory))
        for state in ("done", "failed"):
            # The second finds the first in its place.
            self.open("/operations")
            self.fill(directory=directory)
            self.browser.one("form[action$='/backups'] button").click()
            self.assertRegex(self.outcome(), rf"Backup[\s\S]*{state}")
            self.assertTrue(os.listdir(directory))

    def test_runs_are_listed_with_who_asked(self):
        self.open("/operations")
        self.browser.one("[aria-labelledby=replay-title] button").click()
        self.assertIn("identical", self.outcome())
        self.open("/operations")
        self.assertRegex(self.browser.text(), re.escape(self.server.keys["operator"].split("_")[1]))


PROGRAM = os.environ.get("TRAYLOG", "")


class OperatorTests(unittest.TestCase):
    @unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs the program: TRAYLOG names it")
    def test_the_preview_of_an_erasure_knows_a_hold_of_any_age(self):
        with console_server() as server:
            server.perform(*({"kind": "notify", "user": user, "title": "One"} for user in ("free", "held", "busy")))
            server.stop()
            for user in ("held", "busy"):
                subprocess.run([PROGRAM, "--store", os.path.join(server.directory, "store"), "hold", user], check=True, capture_output=True)
            with console_server(directory=server.directory) as again:
                for _ in range(3):
                    again.perform(*({"kind": "notify", "user": "busy", "title": f"Item {n}"} for n in range(700)))
                visitor = Visitor(again, "operator")

                def preview(user):
                    return text_of(visitor.get(f"/operations?erase={user}"))

                self.assertIn("free has 1 event and 1 listed item. Nothing was erased yet.", preview("free"))
                self.assertNotIn("legal hold", preview("free"))
                self.assertIn("A legal hold keeps them", preview("held"))
                self.assertIn("A legal hold keeps them", preview("busy"))
                # The erasure itself is refused as well.
                visitor.send("/operations/erasures", {"form": visitor.form("/operations"), "user": "busy", "confirm": "busy"})
                deadline = time.monotonic() + 30
                while "failed" not in (page := text_of(visitor.get("/operations"))) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertIn("failed", page)

    def test_a_server_that_starts_stores_the_tree_of_the_log(self):
        with console_server() as server:
            server.perform(*({"kind": "notify", "user": "ann", "title": f"Item {n}"} for n in range(600)))
            self.assertEqual(Visitor(server, "viewer").get("/pulse").json["tree"], "0 events")
            before = server.get("/v1/tree-head").json
            server.stop()
            with console_server(directory=server.directory) as again:
                visitor = Visitor(again, "viewer")
                # The page waits for it.
                self.assertIn(before["rootHash"], text_of(visitor.get("/tree")))
                self.assertEqual(visitor.get("/pulse").json["tree"], "512 events")
                self.assertIn("512 events", text_of(visitor.get("")))
                self.assertEqual(again.get("/v1/tree-head").json["rootHash"], before["rootHash"])


if __name__ == "__main__":
    unittest.main()

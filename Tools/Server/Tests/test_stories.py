"""Stories that the console hands out: the program and the independent checker repeat them in the same words, and find each change."""

import hashlib
import html
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest
from datetime import datetime, timedelta, timezone

from consoled import HOSTILE, Visitor, console_server, text_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import auditor
import item_story

ACTIONS = [{"id": "yes", "label": "Pay"}, {"id": "no", "label": "Wait"}]
PROGRAM = os.environ.get("TRAYLOG", "")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def soon(seconds):
    return (datetime.now(timezone.utc) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@unittest.skipUnless(os.access(PROGRAM, os.X_OK), "needs the program: TRAYLOG names it")
class StoryCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = console_server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.work = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="traylog-stories."))
        cls.visitor = Visitor(cls.server, "auditor")
        key = re.search(r"[^\s<>\"]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+", html.unescape(cls.visitor.get("/tree").body.decode()))
        cls.key = key.group(0)
        pathlib.Path(cls.work, "key").write_text(cls.key + "\n")

    def do(self, *commands):
        """Performs commands of ann; answers the events."""
        answers = self.server.perform(*({"user": "ann", **command} if command["kind"] != "broadcast" else command for command in commands))["results"]
        for answer in answers:
            self.assertIn("seq", answer)
        return [answer["seq"] for answer in answers]

    def notify(self, **content):
        return self.do({"kind": "notify", **content})[0]

    def page(self, item, user="ann", query=""):
        answer = self.visitor.get(f"/users/{user}/items/{item}/story{query}")
        self.assertEqual(answer.status, 200, answer)
        # Files of two people, or of two moments, do not replace each other.
        name = re.fullmatch(r'attachment; filename="story-(\d+)-([\w.~-]+)-asof-(\d+)\.html"', answer.headers["content-disposition"])
        self.assertEqual(name and name.group(1, 2), (str(item), user), answer)
        return answer.body

    def program(self, page, *options):
        file = pathlib.Path(self.work, "story.html")
        file.write_bytes(page)
        return subprocess.run([PROGRAM, "check", file, *options], cwd=self.work, capture_output=True, text=True, check=False)

    def other(self, page, key=None, heads=()):
        """What the independent checker says; None where it finds something."""
        file = pathlib.Path(self.work, "other.html")
        file.write_bytes(page)
        check = auditor.HandedOut(list(heads), key)
        try:
            check.check_file(str(file))
        except ValueError:
            return None
        return check.story

    def told(self, page):
        """The words of a page, which both checkers repeat."""
        said = self.program(page, "--public-key", "key", "--json")
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)
        value = json.loads(said.stdout)
        self.assertEqual((value["ok"], value["story"], value["signed"], value["findings"]), (True, True, True, []))
        words = " ".join(f"{one['text']} [{one['source']}]" for one in value["sentences"])
        repeated = self.other(page, self.key)
        self.assertIsNotNone(repeated)
        start = f"item {value['item']} of {value['user']}, proved by the tree head of {value['events']} events with the root "
        lines = "".join(f"\n  {one['text']} [{one['source']}]" for one in value["sentences"])
        self.assertTrue(repeated.startswith(start) and repeated.endswith(lines), f"{repeated}\n{start}{lines}")
        # People read the same.
        for one in value["sentences"]:
            self.assertIn(html.escape(one["text"], quote=False).replace("\r", "&#13;"), page.decode())
        return words

    def head(self, page):
        size = int(re.search(rb"had it after (\d+) events", page).group(1))
        return self.server.get(f"/v1/tree-head?asOf={size}").json

    def assertFound(self, page, what, key_only=False):
        """Both checkers find a change: with the key, and with a tree head alone."""
        # What does not even look like a page needs a tree head.
        self.assertEqual(self.program(page, "--public-key", "key").returncode, 1 if page.startswith(b"<") else 64, what)
        self.assertIsNone(self.other(page, self.key), what)
        if not key_only:
            pathlib.Path(self.work, "head").write_text(json.dumps(self.known))
            self.assertEqual(self.program(page, "--tree-head", "head").returncode, 1, what)
            self.assertIsNone(self.other(page, None, [self.known]), what)


class WordsTests(StoryCase):
    def test_both_checkers_repeat_each_kind_of_life(self):
        told = lambda item, query="": self.told(self.page(item, query=query))
        muted = self.do({"kind": "mute", "category": "approval", "until": "2099-01-01T08:00:00Z", "device": "phone", "actor": "support"})[0]
        quiet = self.notify(title="Order 7", category="approval", actor="shop", occurredAt="2026-03-05T08:00:00Z")
        self.do({"kind": "seeTray", "device": "tablet"}, {"kind": "markAll", "as": "read", "device": "tablet"})
        words = told(quiet)
        self.assertRegex(words, rf"^ann got this on \S+ \S+ UTC from shop \(claimed: 2026-03-05 08:00:00 UTC\)\. \[event {quiet}\]")
        self.assertRegex(words, rf"support had muted category approval on phone on \S+ \S+ UTC, until 2099-01-01 08:00:00 UTC\. \[event {muted}\]")
        self.assertRegex(words, r"The list with it was on screen on \S+ \S+ UTC on tablet\. \[event \d+\]")
        self.assertRegex(words, r"marked as read with “mark all” on \S+ \S+ UTC on tablet, and not opened individually\. \[event \d+\]")
        self.assertIn("It is still in the tray. [stated]", words)
        # A mute that took the place of another one began with that.
        self.do({"kind": "mute", "category": "approval"})
        self.assertIn("had muted category approval", told(self.notify(title="Order 8", category="approval")))

        asked = self.notify(title="Pay 7?", actions=ACTIONS, data={"n": [1, None, "</pre>"], "x": 1.50})
        self.assertIn("Nobody has answered yet. [stated]", told(asked))
        self.do({"kind": "act", "item": asked, "action": "yes", "note": "ok", "actor": "boss"})
        self.assertRegex(told(asked), r"boss answered “Pay” on \S+ \S+ UTC\. \[event \d+\]")

        first, second = self.notify(title="One"), self.notify(title="Two", silent=True)
        self.do({"kind": "mark", "as": "read", "items": [first, second], "actor": "eve"})
        self.assertRegex(told(first), r"marked as read together with another item on \S+ \S+ UTC by eve, and not opened individually")
        self.assertRegex(told(second), r"It did not ring: it was sent silently\..* It is silent: a list shows it only on request\. \[stated\]$")
        read = self.notify(title="Three")
        event = self.do({"kind": "mark", "as": "read", "items": [read], "device": "laptop"})[0]
        self.assertRegex(told(read), rf"It was read on \S+ \S+ UTC on laptop\. \[event {event}\]")
        self.do({"kind": "undo", "event": event})
        self.assertRegex(told(read), rf"It was read on \S+ \S+ UTC on laptop\. \[event {event}\] "
                         rf"ann undid this on \S+ \S+ UTC\. \[event \d+\] .*It was not read after that\. \[stated\]")
        self.assertRegex(told(read, f"?asOf={event}"), rf"It was read on .* \[event {event}\]")

        self.do({"kind": "snooze", "item": read, "until": "2099-01-01T08:00:00Z"})
        self.assertIn("It is snoozed until 2099-01-01 08:00:00 UTC.", told(read))
        self.do({"kind": "wake", "item": read})
        self.assertIn("It came back from a snooze on", told(read))
        self.do({"kind": "mark", "as": "archived", "items": [read]})
        self.assertRegex(told(read), r"It was archived on \S+ \S+ UTC\. \[event \d+\]")
        self.do({"kind": "mark", "as": "deleted", "items": [read, first, second]})
        self.assertRegex(told(read), r"It was deleted together with 2 other items on \S+ \S+ UTC\. \[event \d+\]")

        status = self.notify(title="Build 1", collapseKey="build")
        self.notify(title="Build 2", collapseKey="build", actor="ci")
        self.assertRegex(told(status), r"A later notification replaced it on \S+ \S+ UTC by ci\. \[event \d+\]")
        offer = self.notify(title="89 EUR", actions=ACTIONS, actor="shop")
        edited = self.do({"kind": "edit", "item": offer, "title": "99 EUR", "actor": "shop"})[0]
        self.do({"kind": "mark", "as": "read", "items": [offer]}, {"kind": "act", "item": offer, "action": "yes"})
        self.do({"kind": "edit", "item": offer, "body": "Thank you", "actor": "shop"})
        self.assertRegex(told(offer), rf"edited it on \S+ \S+ UTC by shop: its title changed from “89 EUR” to “99 EUR”\. \[event {edited}\] It was read .*"
                         r"ann answered “Pay” on .* Its sender edited it on \S+ \S+ UTC by shop\. \[event \d+\] It is still in the tray")
        self.assertIn("Answered", text_of(self.visitor.get(f"/users/ann/items/{offer}")))
        deleted, neighbour = self.notify(title="Out of sight"), self.notify(title="Too")
        mark = self.do({"kind": "mark", "as": "deleted", "items": [deleted, neighbour]}, {"kind": "notify", "title": "Look"}, {"kind": "seeTray"})[0]
        hidden = rf"It was deleted together with another item on .* \[event {mark}\] .* looked at on \S+ \S+ UTC; the item was not in it\. \[event \d+\] "
        self.assertRegex(told(deleted), hidden + r"It was not read yet\. \[stated\]$")
        # When somebody looked, it was still deleted.
        self.do({"kind": "undo", "event": mark})
        self.assertRegex(told(deleted), r"UTC; the item was not in it\. \[event \d+\] It was not read yet\. \[stated\] It is still in the tray")
        taken = self.notify(title="Wrong")
        self.do({"kind": "retract", "item": taken, "actor": "shop"})
        self.assertRegex(told(taken), r"It was never read\. \[stated\] Its sender took it back on \S+ \S+ UTC by shop\.")

    def test_both_checkers_repeat_broadcasts(self):
        joined = self.do({"kind": "subscribe", "topic": "news"})[0]
        item = self.do({"kind": "broadcast", "topic": "news", "title": "The office moves", "actor": "hr"})[0]
        self.do({"kind": "seeTray"})
        words = self.told(self.page(item))
        self.assertRegex(words, rf"from hr through the topic news\. \[event {item}, subscribed by event {joined}\]")
        self.server.perform({"kind": "retract", "item": item})
        self.assertRegex(self.told(self.page(item)), r"Its sender took it back on")

    def test_both_checkers_repeat_ends_that_time_brings(self):
        item = self.notify(title="Soon over", remindAt=soon(1), expiresAt=soon(2))
        deadline = time.monotonic() + 30
        while self.server.get(f"/v1/users/ann/items/{item}").status != 410:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        words = self.told(self.page(item))
        self.assertRegex(words, r"A reminder was sent on \S+ \S+ UTC\. \[event \d+\] .*It was never read\. \[stated\] It expired on \S+ \S+ UTC\. \[event \d+\]$")

    def test_both_checkers_repeat_what_was_planned(self):
        self.do({"kind": "subscribe", "topic": "plans"})
        item = self.notify(title="Later", notBefore=soon(1), actor="hr", key="later", thread="plan")
        everybody = self.do({"kind": "broadcast", "topic": "plans", "title": "All of you", "notBefore": soon(1)})[0]
        muted = self.do({"kind": "mute", "thread": "plan"})[0]
        self.assertEqual(self.visitor.get(f"/users/ann/items/{item}/story").status, 404)
        deadline = time.monotonic() + 30
        while {self.server.get(f"/v1/users/ann/items/{seq}").status for seq in (item, everybody)} != {200}:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)
        self.do({"kind": "mark", "as": "read", "items": [item]})
        words = self.told(self.page(item))
        self.assertRegex(words, r"^ann got this on \S+ \S+ UTC from hr, as planned on \S+ \S+ UTC\. \[event \d+\]")
        self.assertRegex(words, rf"ann had muted thread plan on \S+ \S+ UTC\. \[event {muted}\].* It was read on")
        self.assertRegex(self.told(self.page(everybody)), r"through the topic plans, as planned on .*, subscribed by event \d+\]")

    def test_texts_of_any_kind_stay_text(self):
        for name, text in HOSTILE.items():
            item = self.notify(title=text + "\r\n<pre id=\"proof\">", body="b", actor=text[:200], device="d")
            page = self.page(item)
            self.told(page)
            self.assertEqual(page.count(b"<script") + page.count(b"<img") + page.count(b"<svg"), 0, name)

    def test_both_checkers_repeat_random_lives(self):
        seed = random.randrange(2**32)
        chance, items, topic = random.Random(seed), [], f"topic {seed}"
        pick = lambda: chance.choice(items or [1])
        content = lambda: {
            "title": chance.choice(["<A & B>", "\u202eC", "D"]), **chance.choice([{}, {"thread": "t"}, {"category": "c"}, {"level": "critical"}]),
            **chance.choice([{}, {}, {"actions": ACTIONS}, {"silent": True}])}
        scope = lambda: chance.choice([{"all": True}, {"thread": "t"}, {"category": "c"}, {"topic": topic}])
        kinds = [
            lambda: {"kind": "notify", **content(), **chance.choice([{}, {}, {"collapseKey": "k"}])}, lambda: {"kind": "notify", **content()},
            lambda: {"kind": "broadcast", "topic": topic, **content()}, lambda: {"kind": "subscribe", "topic": topic},
            lambda: {"kind": "unsubscribe", "topic": topic}, lambda: {"kind": "mute", **scope()}, lambda: {"kind": "mute", **scope(), "until": "2099-01-01T00:00:00Z"},
            lambda: {"kind": "unmute", **scope()}, lambda: {"kind": "seeTray"},
            lambda: {"kind": "mark", "as": chance.choice("seen read unread archived unarchived deleted restored".split()), "items": [pick(), pick()]},
            lambda: {"kind": "mark", "as": "read", "items": [pick()]},
            lambda: {"kind": "markAll", "as": chance.choice("seen read archived deleted".split()), **chance.choice([{}, {"thread": "t"}, {"thread": None}, {"category": "c"}])},
            lambda: {"kind": "snooze", "item": pick(), "until": "2099-01-01T00:00:00Z"}, lambda: {"kind": "wake", "item": pick()},
            lambda: {"kind": "act", "item": pick(), "action": "yes"}, lambda: {"kind": "retract", "item": pick()},
            lambda: {"kind": "undo", "event": chance.randrange(1, 200)}, lambda: {"kind": "edit", "item": pick(), "title": chance.choice(["E", "<F>"])},
            lambda: {"kind": "undo", "event": max(1, newest - chance.randrange(4))}, lambda: {"kind": "edit", "item": pick(), "body": "G"},
        ]
        newest = 1
        for _ in range(170):
            command = chance.choice(kinds)()
            who = {} if command["kind"] == "broadcast" else {"user": "zoe"}
            extra = {**chance.choice([{}, {"actor": "support"}, {"actor": "zoe"}]), **chance.choice([{}, {"device": "phone"}]),
                     **chance.choice([{}, {}, {"occurredAt": "2026-03-05T08:00:00Z"}])}
            (answer,) = self.server.post("/v1/commands", [{**command, **who, **extra}]).json["results"]
            newest = answer.get("seq", newest)
            if "seq" in answer and command["kind"] in ("notify", "broadcast"):
                items.append(answer["seq"])
        told = 0
        for item in items:
            # A broadcast of a time without a subscription is in another tray, or in none.
            if self.visitor.get(f"/users/zoe/items/{item}").status == 200:
                with self.subTest(seed=seed, item=item):
                    self.told(self.page(item, user="zoe"))
                told += 1
        self.assertGreater(told, 5)

    def test_a_viewer_reads_the_sentences_and_gets_no_proofs(self):
        item = self.notify(title="For the viewer")
        path = f"/users/ann/items/{item}"
        self.assertIn(f'href="/console{path}/story"', self.visitor.get(path).body.decode())
        viewer = Visitor(self.server, "viewer")
        page = viewer.get(path)
        self.assertIn("ann got this on", text_of(page))
        self.assertNotIn("/story", page.body.decode())
        self.assertNotIn("Prove this", text_of(page))
        self.assertEqual(viewer.get(f"{path}/story").status, 403)
        self.assertEqual(self.visitor.get("/users/ann/items/999999/story").status, 404)

    def test_a_page_says_in_words_why_it_does_not_count(self):
        page = self.page(self.notify(title="Words"))
        self.assertEqual(self.program(page).returncode, 64)
        said = self.program(page, "--public-key", "key")
        self.assertRegex(said.stdout, r"^true: item \d+ of ann, proved by the tree head of \d+ events with the root [0-9a-f]{64}, signed\n"
                         r"  ann got this on .* \[event \d+\]\n(  .*\]\n)*  It is still in the tray\. \[stated\]\n$")
        pathlib.Path(self.work, "head").write_text(json.dumps(self.head(page)))
        self.assertRegex(self.program(page, "--tree-head", "head").stdout, r", signature not looked at\n  ann got this")
        said = self.program(page.replace(b"still in the tray", b"not in the tray"), "--public-key", "key")
        self.assertRegex(said.stdout, r"page: does not say what its events say, from line \d+ on: it was changed\nnot proved: 1 finding\n")


class ManipulationTests(StoryCase):
    def setUp(self):
        self.item = self.notify(title="Pay 7?", actions=ACTIONS, thread="t")
        self.others = [self.notify(title=f"Other {n}", actions=ACTIONS) for n in range(2)]
        self.do({"kind": "seeTray", "device": "tablet"}, {"kind": "mark", "as": "read", "items": [self.item]})
        self.do({"kind": "act", "item": self.others[0], "action": "no"})
        self.content = self.page(self.item)
        self.known = self.head(self.content)
        line = re.search(rb'<pre id="proof">(.*)</pre>', self.content).group(1)
        self.value = json.loads(html.unescape(line.decode()))
        self.assertEqual(compact(self.value), html.unescape(line.decode()).encode())
        self.told(self.content)

    def forged(self, **members):
        """A page of other proofs, a person or an item, made as the server makes one, but for the signature."""
        value = {**self.value, **members}
        stated = compact({name: value[name] for name in ("story", "proofs")})[:-1]
        note = value["checkpoint"].split("\n")
        note[3] = "traylog-story " + hashlib.sha256(stated).hexdigest()
        body = stated + b',"checkpoint":' + compact("\n".join(note))
        line = body + b',"seal":"' + hashlib.sha256(body).hexdigest().encode() + b'"}'
        head = {"treeSize": self.known["treeSize"], "rootHash": self.known["rootHash"]}
        check = auditor.HandedOut([head])
        try:
            events = [item_story.proved_event(proof, head, check.check_proof) for proof in value["proofs"]]
            story = item_story.Story(value["story"]["item"], value["story"]["user"], events)
        except (ValueError, KeyError):
            return re.sub(rb'(?<=<pre id="proof">).*(?=</pre>)', lambda _: html.escape(line.decode(), quote=False).encode(), self.content)
        start = self.content.index(b"<main>\n") + 7
        return self.content[:start] + item_story.rendered(story, note[0], head, line.decode()).encode()

    def test_a_page_that_is_made_again_as_it_was_counts(self):
        self.assertEqual(self.forged(), self.content)

    def test_each_changed_byte_is_found(self):
        head, found = [self.known], 0
        for at in range(0, len(self.content) - 1):
            changed = bytearray(self.content)
            changed[at] ^= 1 << (at % 8)
            found += self.other(bytes(changed), None, head) is None
        self.assertEqual(found, len(self.content) - 1)
        for at in random.sample(range(len(self.content) - 1), 40):
            changed = bytearray(self.content)
            changed[at] ^= 1
            self.assertFound(bytes(changed), f"byte {at}")
        for line in random.sample(range(self.content.count(b"\n")), 12):
            lines = self.content.split(b"\n")
            self.assertFound(b"\n".join(lines[:line] + lines[line + 1 :]), f"without line {line}")
            self.assertFound(b"\n".join(lines[:line] + [lines[line] + b"\r"] + lines[line + 1 :]), f"a carriage return in line {line}")

    def test_each_changed_sentence_is_found_whatever_it_says(self):
        for sentence in re.findall(rb"<li><bdi>(.*)</bdi> <span", self.content):
            self.assertFound(self.content.replace(sentence, b"It was never on screen."), sentence)
        for source in set(re.findall(rb"#e\d+\">(event \d+)</a>", self.content)):
            self.assertFound(self.content.replace(source, b"event 1"), source)
        self.assertFound(self.content.replace(b"stated</span>", b"event 1</span>").replace(b"[stated]", b"[event 1]"), "a stated one")

    def test_events_that_are_left_out_added_or_swapped_are_found(self):
        proofs = self.value["proofs"]
        other = json.loads(html.unescape(re.search(rb'<pre id="proof">(.*)</pre>', self.page(self.others[0])).group(1).decode()))
        for at in range(len(proofs)):
            rest = proofs[:at] + proofs[at + 1 :]
            # The sentences fit what is left: only who signed can say that there was more.
            self.assertFound(self.forged(proofs=rest), f"without event {at}", key_only=at > 0)
            self.assertFound(self.forged(proofs=[*proofs[: at + 1], *proofs[at:]]), f"event {at} twice")
        self.assertFound(self.forged(proofs=proofs[::-1]), "swapped")
        for proof in other["proofs"]:
            if proof not in proofs:
                self.assertFound(self.forged(proofs=sorted([*proofs, proof], key=lambda one: one["seq"])), "an event of another item")
        self.assertFound(self.forged(story={"user": "ann", "item": self.others[0]}), "another item")
        self.assertFound(self.forged(story={"user": "eve", "item": self.item}), "another person")
        self.assertFound(self.forged(proofs=[{**proofs[0], "leafIndex": proofs[0]["leafIndex"] + 1}, *proofs[1:]]), "another place")

    def test_an_undo_and_what_it_undid_are_told_and_cannot_be_left_out(self):
        read = next(event["seq"] for event in self.server.get("/v1/users/ann/history?limit=1000").lines
                    if event["kind"] == "marked" and event.get("items") == [self.item])
        undo = self.do({"kind": "undo", "event": read, "actor": "ada", "device": "desk"})[0]
        self.content = self.page(self.item)
        self.known = self.head(self.content)
        self.value = json.loads(html.unescape(re.search(rb'<pre id="proof">(.*)</pre>', self.content).group(1).decode()))
        words = self.told(self.content)
        self.assertRegex(words, rf"It was read on \S+ \S+ UTC\. \[event {read}\] ada undid this on \S+ \S+ UTC on desk\. \[event {undo}\] "
                         r"It was not read after that\. \[stated\]")
        self.assertEqual(self.forged(), self.content)
        without = lambda *seqs: self.forged(proofs=[proof for proof in self.value["proofs"] if proof["seq"] not in seqs])
        # An undo of nothing is no sentence.
        self.assertFound(without(read), "without what was undone")
        # What is left fits: only who signed can say that there was more.
        self.assertFound(without(undo), "without the undo", key_only=True)
        self.assertFound(without(read, undo), "without both", key_only=True)
        for seq in (read, undo):
            self.assertFound(re.sub(rb"<li>[^\n]*#e%d\"[^\n]*</li>\n" % seq, b"", self.content), f"without the sentence of {seq}")

    def test_another_log_or_another_key_does_not_count(self):
        pathlib.Path(self.work, "head").write_text(json.dumps({**self.known, "rootHash": "0" * 64}))
        self.assertEqual(self.program(self.content, "--tree-head", "head").returncode, 1)
        self.assertIsNone(self.other(self.content, None, [{**self.known, "rootHash": "0" * 64}]))
        subprocess.run([PROGRAM, "keygen", "foreign", "--name", self.key.split("+")[0]], cwd=self.work, capture_output=True, check=True)
        self.assertEqual(self.program(self.content, "--public-key", "foreign.pub").returncode, 1)
        self.assertIsNone(self.other(self.content, pathlib.Path(self.work, "foreign.pub").read_text()))


if __name__ == "__main__":
    unittest.main()

"""One health: each alarm begins and ends in the command line, readiness, the figures, the console, and the shipped dashboard and alerts."""

import contextlib
import html
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest

import yaml
from consoled import Visitor, console_server, flip, text_of
from served import FAKETIME, Server

PROGRAM = os.environ.get("TRAYLOG") or os.path.join(os.path.dirname(os.environ["TRAYLOG_SERVER"]), "traylog")
FOLDER = pathlib.Path(__file__).resolve().parents[1]
RULES = [rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]
PANELS = json.loads((FOLDER / "dashboard.json").read_text())["panels"]
# What each alarm is called in the list of problems, in the alerts, and on the dashboard.
ALARMS = {
    "disk": ("TraylogDiskFull", "Store"), "check": ("TraylogDamaged", "Findings"), "overdue": ("TraylogOverdue", "Store"),
    "backup": ("TraylogBackupOld", "Backup age"), "verification": ("TraylogVerificationOld", "Verification age"),
    "archive": ("TraylogArchiveBehind", "Archive lag"),
}


def figures(text):
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if match and not line.startswith("#"):
            found.append((match[1], dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")), float(match[3])))
    return found


def fires(expression, found):
    """Whether an alert's expression holds: terms with 'or' between them, each a figure, a comparison and a number."""
    for term in expression.split(" or "):
        match = re.fullmatch(r"(\w+)(?:\{(\w+)(=~?)\"([^\"]*)\"\})? (==|>) ([\d.]+)", term.strip())
        assert match, term
        name, label, kind, value, compare, limit = match.groups()
        for figure, labels, number in found:
            if figure != name or (label and not re.fullmatch(value if kind == "=~" else re.escape(value), labels.get(label, ""))):
                continue
            if number == float(limit) if compare == "==" else number > float(limit):
                return True
    return False


def colour(title, found):
    """The colour that a panel of the dashboard has."""
    panel = next(panel for panel in PANELS if panel["title"] == title)
    function, name = re.match(r"(sum|min|max)\((\w+)\{", panel["targets"][0]["expr"]).groups()
    number = {"sum": sum, "min": min, "max": max}[function](value for figure, _, value in found if figure == name)
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    return [step["color"] for step in steps if number >= (-math.inf if step["value"] is None else step["value"])][-1]


class HealthTests(unittest.TestCase):
    OPTIONS = ("--max-backup-age", "1d", "--max-verified-age", "1w")
    ARCHIVE_OPTIONS = ("--max-archive-lag", "1m")

    def store(self, server):
        return os.path.join(server.directory, "store")

    def program(self, server, *arguments, statuses=(0,)):
        done = subprocess.run([PROGRAM, "--store", self.store(server), *arguments], capture_output=True, text=True)
        self.assertIn(done.returncode, statuses, done)
        return done.stdout

    def readiness(self, server, seconds=60):
        """Readiness as soon as it is known: on a busy machine the store may not answer in the five seconds that it has."""
        end = time.monotonic() + seconds
        while (ready := server.get("/readyz", who=None)).status == 503 and time.monotonic() < end:
            time.sleep(0.2)
        self.assertEqual(ready.status, 200, ready.body)
        return ready.json

    def check(self, server, *expected, options=OPTIONS):
        """All places say that these are wrong, and no other alarm sounds."""
        told = json.loads(self.program(server, "health", "--json", *options, statuses=(0, 1)))
        self.assertEqual({finding["problem"] for finding in told["findings"] if finding["severity"] == "problem"}, set(expected))
        self.assertEqual(told["ok"], not expected)
        ready = self.readiness(server)
        self.assertEqual(set(ready.get("problems", [])), set(expected), ready)
        found = figures(server.get("/metrics").body.decode())
        wrong = {labels["problem"] for name, labels, value in found if name == "traylog_problem" and value == 2}
        self.assertEqual(wrong, set(expected))
        page = Visitor(server, "operator").get("").body.decode()
        state = re.search(r"<p class=\"state\" data-health.*?</p>", page).group()
        self.assertEqual("Needs attention" in state, bool(expected), state)
        shown = text_of(Visitor(server, "operator").get(""))
        words = {
            "disk": "are free on the disk", "check": "(Verification|Reading) found", "overdue": "due since",
            "backup": "(There is no|The last) backup", "verification": "(There is no|The last) verified head",
            "archive": "The copies of .* lack the log of the last 10 min",
        }
        for alarm, (rule, panel) in ALARMS.items():
            expression = next(rule_["expr"] for rule_ in RULES if rule_["alert"] == rule)
            self.assertEqual(fires(expression, found), alarm in expected, (alarm, expression))
            if alarm in expected:
                self.assertIn(colour(panel, found), ("red", "orange"), panel)
                self.assertRegex(shown, words[alarm])
        if not expected:
            self.assertEqual(colour("Store", found), "green")

    def age(self, server, name, seconds):
        """Makes the record of a backup or a verification older."""
        path = os.path.join(self.store(server), name)
        moment, head = pathlib.Path(path).read_text().split()
        pathlib.Path(path).write_text(f"{int(moment) - seconds * 1000} {head}\n")

    def job(self, server, kind, members):
        identity = server.post(f"/v1/admin/{kind}", members).json["id"]
        while (job := server.get(f"/v1/admin/jobs/{identity}").json)["state"] == "running":
            time.sleep(0.02)
        self.assertEqual(job["state"], "done", job)

    def test_missing_and_old_backups_and_verifications_and_damage_begin_and_end_everywhere(self):
        with console_server(*self.OPTIONS) as server:
            server.notify("ann", title="A")
            self.check(server, "backup", "verification")
            self.job(server, "backups", {"dest": os.path.join(server.directory, "copy")})
            self.check(server, "verification")
            self.program(server, "verify")
            self.check(server)
            self.age(server, "last-backup", 200_000)
            self.check(server, "backup")
            self.job(server, "backups", {"dest": os.path.join(server.directory, "second")})
            self.age(server, "last-verified", 900_000)
            self.check(server, "verification")
            self.job(server, "verifications", {})
            self.check(server)
            # A tree head that this log does not extend: the check has a finding.
            with open(os.path.join(server.directory, "head"), "w") as file:
                file.write(json.dumps({"treeSize": 1, "rootHash": "00" * 32}))
            self.program(server, "verify", "--tree-head", os.path.join(server.directory, "head"), statuses=(1,))
            self.check(server, "check")
            self.program(server, "verify")
            self.check(server)

    def test_damage_that_a_read_meets_begins_everywhere_and_ends_with_a_verification(self):
        for path in ("/v1/users/ann/history", "/console/users/ann/timeline"):
            with self.subTest(path=path), console_server() as server:
                for number in range(1, 4):
                    server.notify("ann", title=f"Title number {number}.")
                self.job(server, "backups", {"dest": os.path.join(server.directory, "copy")})
                self.job(server, "verifications", {})
                server.owns = False
                server.stop()
                self.assertGreater(flip(self.store(server), b"Title number 2."), 0)
                with console_server(directory=server.directory) as damaged:
                    damaged.owns = False
                    self.check(damaged, options=())
                    if path.startswith("/v1"):
                        self.assertEqual(damaged.get(path).status, 500)
                    else:
                        self.assertIn("event 2 is damaged", text_of(Visitor(damaged, "auditor").get(path.removeprefix("/console"))))
                    self.check(damaged, "check", options=())
                    told = json.loads(self.program(damaged, "health", "--json", statuses=(1,)))
                    self.assertEqual([(failed["check"], failed["count"]) for failed in told["failedChecks"]], [("read", 1)])
                    self.assertIn("event 2 is damaged", told["problems"][0])
                    self.assertNotIn(server.directory, told["problems"][0])
                    self.assertIn("event 2 is damaged", text_of(Visitor(damaged, "auditor").get("/findings")))
                    # The same damage, met again, is one finding; a verification that finds it takes the place of it.
                    damaged.get("/v1/users/ann/history")
                    self.assertIn('traylog_check_findings{check="read"} 1', damaged.get("/metrics").body.decode())
                    self.job(damaged, "verifications", {})
                    damaged.get("/v1/users/ann/history")
                    told = json.loads(self.program(damaged, "health", "--json", statuses=(1,)))
                    self.assertEqual([failed["check"] for failed in told["failedChecks"]], ["verify"])
                    damaged.stop()
                self.assertGreater(flip(self.store(server), bytes([b"T"[0] ^ 1]) + b"itle number 2."), 0)
                with console_server(directory=server.directory) as sound:
                    self.check(sound, "check", options=())
                    self.job(sound, "verifications", {})
                    self.check(sound, options=())

    def test_the_page_of_a_damaged_item_answers_where_a_later_event_is_damaged_too(self):
        with console_server() as server:
            for number in range(1, 5):
                server.notify("ann", title=f"Title number {number}.")
            server.owns = False
            server.stop()
            for number in (2, 3):
                self.assertGreater(flip(self.store(server), f"Title number {number}.".encode()), 0)
            with console_server(directory=server.directory) as damaged:
                answer = Visitor(damaged, "auditor").get("/users/ann/items/2")
                self.assertEqual(answer.status, 200)
                self.assertIn("How it came cannot be read: event 2 is damaged", text_of(answer))
                self.assertIn("What happened to it later cannot be read either: event 3 is damaged", text_of(answer))

    def test_a_damaged_event_hides_no_more_than_itself(self):
        with console_server() as server:
            for number in range(1, 6):
                server.notify("ann", title=f"Title number {number}.")
            server.post("/v1/users/ann/marks", {"as": "read", "items": [4]})
            server.post("/v1/users/ann/marks", {"as": "archived", "items": [3], "device": "phone"})
            server.owns = False
            server.stop()
            self.assertGreater(flip(self.store(server), b"Title number 3."), 0)
            with console_server(directory=server.directory) as damaged:
                auditor = Visitor(damaged, "auditor")
                for page in ("/users/ann/timeline", "/log"):
                    content = auditor.get(page).body.decode()
                    self.assertEqual(re.findall(r'<tr data-seq="(\d+)"', content), ["7", "6", "5", "4", "3"], page)
                    row = text_of(auditor.get(page))
                    self.assertIn("event 3 is damaged", row)
                    self.assertIn('href="/console/events/3">3</a>', content)
                    self.assertIn('href="/console/findings">What to do', content)
                    older = re.search(r'data-next href="/console([^"]+)"', content).group(1)
                    rest = auditor.get(html.unescape(older)).body.decode()
                    self.assertEqual(re.findall(r'<tr data-seq="(\d+)"', rest), ["2", "1"], page)
                # Before the damage all is told; after it, only that there is more.
                later = text_of(auditor.get("/users/ann/items/4"))
                self.assertIn("It was read on", later)
                self.assertNotIn("cannot be told", later)
                earlier = text_of(auditor.get("/users/ann/items/1"))
                self.assertIn("What happened to it later cannot be told: event 3 is damaged", earlier)
                self.assertRegex(earlier, r"Until event 2:\s*ann got this on")
                self.assertNotIn("Prove this", earlier)
                # Of the damaged one itself, what came after it.
                lost = text_of(auditor.get("/users/ann/items/3"))
                self.assertIn("How it came cannot be read: event 3 is damaged", lost)
                self.assertRegex(lost, r"What may have happened to it\s+Archived\s+on phone")
                self.assertIn("What to do", lost)
                self.assertNotIn("Prove this", lost)
                self.assertEqual(auditor.get("/users/ann/items/9").status, 404)
                self.assertRegex(self.program(damaged, "show", "ann", "3", statuses=(74,)), r"item 3 came cannot be read[^\0]*\b7\b.*marked")
                # A moment whose tray cannot be computed leaves the way to others.
                past = auditor.get("/users/ann?asOf=4").body.decode()
                self.assertIn("data-moment", past)
                self.assertIn("event 3 is damaged", html.unescape(re.sub(r"<[^>]*>", "", past)))
                self.assertIn("Title number 2.", text_of(auditor.get("/users/ann?asOf=2")))

    def test_what_may_have_happened_to_a_damaged_item_ends_with_the_item(self):
        with console_server() as server:
            server.call("PUT", "/v1/users/ann/subscriptions/news")
            own = server.notify("ann", title="Title number 1.").json["seq"]
            everybodys = server.post("/v1/topics/news/broadcasts", {"title": "Title number 2."}).json["seq"]
            kept = server.notify("ann", title="Title number 3.").json["seq"]

            def see(device):
                server.post("/v1/users/ann/seen", {"upTo": server.notify("ann", title="x").json["seq"], "device": device})

            see("first")
            server.call("DELETE", f"/v1/users/ann/items/{own}")
            server.call("DELETE", f"/v1/items/{everybodys}")
            see("second")
            server.owns = False
            server.stop()
            for number, item, titles in ((b"1", own, ["Marked as seen", "Retracted"]), (b"2", everybodys, ["Marked as seen", "Retracted"]),
                                         (b"3", kept, ["Marked as seen", "Marked as seen"])):
                self.assertGreater(flip(self.store(server), b"Title number %b." % number), 0)
                with console_server(directory=server.directory) as damaged:
                    damaged.owns = False
                    page = Visitor(damaged, "auditor").get(f"/users/ann/items/{item}").body.decode()
                    life = re.search(r'<ol class="life">(.*?)</ol>', page, re.DOTALL).group(1)
                    self.assertEqual(re.findall(r'<span class="what"><b>([^<]*)</b>', life), titles, item)
                    told = self.program(damaged, "show", "ann", str(item), statuses=(74,))
                    self.assertEqual(told.count("traySeen"), titles.count("Marked as seen"), told)
                    damaged.stop()
                flip(self.store(server), bytes([b"T"[0] ^ 1]) + b"itle number %b." % number)
            self.addCleanup(shutil.rmtree, server.directory, True)

    def test_a_store_of_a_relative_path_is_named_by_its_whole_path(self):
        with tempfile.TemporaryDirectory(prefix="traylog-relative.") as directory:
            with contextlib.chdir(directory):
                os.mkdir("dam")
                with console_server(directory="dam") as server:
                    server.notify("ann", title="Title number 1.")
                    page = text_of(Visitor(server, "operator").get("/findings"))
            self.assertIn(f"--store {os.path.realpath(directory)}/dam/store", page)

    def test_what_to_do_is_said_with_the_path_of_this_store(self):
        with console_server() as server:
            server.notify("ann", title="A")
            store = self.store(server)
            with open(os.path.join(store, "failed-verify"), "w") as file:
                file.write(f"{int(time.time() * 1000)} 1\nevent 1 is damaged; restore a backup\n")
            told = json.loads(self.program(server, "health", "--json", statuses=(1,)))
            commands = [step["command"] for step in told["next"]]
            self.assertIn(f"traylog export --skip-damaged --store {store} > {store}.salvaged.jsonl", commands)
            page = text_of(Visitor(server, "operator").get("/findings"))
            for command in commands[:2]:
                self.assertIn(command, page)
            # Where the files are is nobody else's business.
            other = text_of(Visitor(server, "auditor").get("/findings"))
            self.assertNotIn(store, other)
            self.assertIn("An operator sees here the commands for this store.", other)
            self.assertNotIn(store, text_of(Visitor(server, "auditor").get("")))

    def test_each_finding_of_the_overview_is_among_the_findings_with_a_command_that_runs(self):
        with console_server() as server:
            server.notify("ann", title="A")
            overview = Visitor(server, "operator").get("")
            self.assertIn("There is no backup. What to do", " ".join(text_of(overview).split()))
            self.assertIn('href="/console/findings">What to do', overview.body.decode())
            viewer = " ".join(text_of(Visitor(server, "viewer").get("")).split())
            self.assertIn("There is no backup. Ask an operator.", viewer)
            self.assertNotIn("traylog backup", viewer)
            page = text_of(Visitor(server, "operator").get("/findings"))
            self.assertIn("There is no backup", page)
            self.assertNotIn("Nothing is wrong", page)
            for step in json.loads(self.program(server, "health", "--json"))["next"]:
                self.assertIn(step["command"], page)
                words = shlex.split(step["command"])
                done = subprocess.run([PROGRAM, *words[1:]], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done)
            page = text_of(Visitor(server, "operator").get("/findings"))
            self.assertIn("Nothing is wrong", page)

    def test_each_figure_is_the_same_in_the_command_line_and_in_the_metrics(self):
        with console_server() as server:
            for number in range(3):
                server.notify("ann", title=str(number))
            self.job(server, "backups", {"dest": os.path.join(server.directory, "copy")})
            self.job(server, "verifications", {})
            told = json.loads(self.program(server, "health", "--json"))
            seconds = {name: time.mktime(time.strptime(told[name][:19] + "UTC", "%Y-%m-%dT%H:%M:%S%Z")) - time.timezone
                       for name in ("lastBackupAt", "lastVerifiedAt")}
            wanted = {
                "traylog_head": told["head"], "traylog_overdue": told["overdue"], "traylog_damaged_states": told["damagedStates"],
                "traylog_reader_lag_commits": told["readerLag"],
                "traylog_last_backup_seconds": seconds["lastBackupAt"], "traylog_last_verification_seconds": seconds["lastVerifiedAt"],
            }
            for text in (server.get("/metrics").body.decode(), self.program(server, "stats", "--prometheus")):
                found = {name: value for name, labels, value in figures(text) if not labels}
                self.assertEqual({name: found[name] for name in wanted}, wanted)
                # Others write to this disk, too.
                self.assertAlmostEqual(found["traylog_disk_free_bytes"] / told["diskFreeBytes"], 1, delta=0.2)

    def test_what_nobody_has_set_a_limit_for_is_a_warning_and_never_a_zero(self):
        with console_server() as server:
            empty = figures(server.get("/metrics").body.decode())
            self.assertNotIn("traylog_last_backup_seconds", [name for name, _, _ in empty])
            self.assertIn(("traylog_backup_age_seconds", {}, math.inf), empty)
            server.notify("ann", title="A")
            told = json.loads(self.program(server, "health", "--json"))
            self.assertEqual((told["ok"], len(told["warnings"])), (True, 2))
            ready = self.readiness(server)
            self.assertEqual(ready.get("warnings"), ["backup", "verification"], ready)
            self.assertNotIn("problems", ready)
            page = text_of(Visitor(server, "operator").get(""))
            self.assertIn("Healthy, but 2 warnings", page)
            self.assertIn("There is no backup", page)

    def test_a_full_disk_begins_and_ends_everywhere(self):
        directory = tempfile.mkdtemp(prefix="traylog-health.")
        self.addCleanup(shutil.rmtree, directory, True)
        options = ["mount", "-t", "tmpfs", "-o", f"size={256 << 20}", "tmpfs", directory]
        if shutil.which("mount") is None or subprocess.run(options, capture_output=True).returncode != 0:
            self.skipTest("needs the right to mount a file system")
        self.addCleanup(subprocess.run, ["umount", "-l", directory])
        with console_server(*self.OPTIONS, directory=directory) as server:
            server.owns = False
            server.notify("ann", title="A")
            self.program(server, "verify")
            with tempfile.TemporaryDirectory() as other:
                self.job(server, "backups", {"dest": os.path.join(other, "copy")})
            self.check(server)
            ballast = os.path.join(directory, "ballast")
            with open(ballast, "wb") as file:
                room = os.statvfs(directory)
                file.truncate(0)
                for _ in range((room.f_bavail * room.f_frsize - (20 << 20)) >> 20):
                    file.write(b"x" * (1 << 20))
            self.check(server, "disk")
            os.remove(ballast)
            self.check(server)

    @unittest.skipUnless(FAKETIME, "needs libfaketime")
    def test_an_archive_whose_copies_fail_begins_and_ends_everywhere(self):
        directory = tempfile.mkdtemp(prefix="traylog-health.")
        self.addCleanup(shutil.rmtree, directory, True)
        store, archive, broken = (os.path.join(directory, name) for name in ("store", "archive", "broken"))
        clock = {"LD_PRELOAD": FAKETIME, "FAKETIME": "-10m", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        # The first process moves its environment, which costs a Swift program its arguments.
        words = ["timeout", "600", PROGRAM, "--store", store, "notify", "ann"]
        subprocess.run(words, check=True, capture_output=True, env={**os.environ, **clock})
        pathlib.Path(broken).touch()
        options = (*self.OPTIONS, *self.ARCHIVE_OPTIONS)
        ship = f"test ! -e {broken} && cp '%p' '{directory}/%f'"
        with console_server("--archive", archive, "--ship", ship, *options, directory=directory) as server:
            server.owns, visitor = False, Visitor(server, "operator")

            def wait(*texts):
                """The overview says so, as it is opened and as it moves on."""
                deadline = time.monotonic() + 60
                while not all(text in (shown := text_of(visitor.get(""))) for text in texts):
                    self.assertLess(time.monotonic(), deadline, shown)
                    time.sleep(0.1)
                pulse = visitor.get("/pulse").json
                self.assertEqual((pulse["archive"], pulse["archiveNote"]), texts)

            wait("10 min behind", "1 event not copied elsewhere yet")
            self.job(server, "backups", {"dest": os.path.join(directory, "copy")})
            self.job(server, "verifications", {})
            self.check(server, "archive", options=options)
            os.remove(broken)
            wait("up to date", "every event is copied elsewhere")
            self.check(server, options=options)
            # A look that fails is no archive that is up to date, and none that nobody makes.
            os.rename(os.path.join(store, "archived-to"), os.path.join(directory, "aside"))
            os.mkdir(os.path.join(store, "archived-to"))
            wait("–", "the archive cannot be looked at")
            self.assertEqual(self.readiness(server).get("problems"), ["archive"])
            self.assertNotIn("traylog_archive_lag_seconds", [name for name, _, _ in figures(server.get("/metrics").body.decode())])

    def test_a_store_that_nobody_archives_has_no_lag(self):
        with console_server() as server:
            server.notify("ann", title="A")
            self.assertEqual(Visitor(server, "operator").get("/pulse").json["archive"], "none")
            self.assertNotIn("traylog_archive_lag_seconds", [name for name, _, _ in figures(server.get("/metrics").body.decode())])

    def test_what_no_tick_has_dealt_with_is_overdue_until_a_server_runs(self):
        with Server() as server:
            store = self.store(server)
            server.stop()
            line = '{"kind":"notify","user":"ann","expiresAt":"2020-01-01T00:00:00Z"}\n'
            subprocess.run([PROGRAM, "--store", store, "append", "-"], input=line, text=True, check=True, capture_output=True)
            told = json.loads(self.program(server, "health", "--json", statuses=(1,)))
            self.assertEqual([finding["problem"] for finding in told["findings"] if finding["severity"] == "problem"], ["overdue"])
            found = figures(self.program(server, "stats", "--prometheus"))
            self.assertIn(("traylog_problem", {"problem": "overdue"}, 2.0), found)
            self.assertTrue(fires(next(rule["expr"] for rule in RULES if rule["alert"] == "TraylogOverdue"), found))
            with Server(directory=server.directory) as again:
                again.wait_for("traylog_overdue", 0)
                self.assertNotIn("problems", self.readiness(again))
                self.assertEqual(json.loads(self.program(again, "health", "--json"))["ok"], True)


if __name__ == "__main__":
    unittest.main()

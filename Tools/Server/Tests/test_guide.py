"""The commands of the documents, run as they stand: those of a page in one shell, against a server of its own."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from mailbox import Mailbox
from served import PROGRAM, Server

ROOT = pathlib.Path(__file__).resolve().parents[3]
TRAY = os.environ.get("TRAYLOG_TRAY")
TRAYLOG = os.environ.get("TRAYLOG")
# Both scripts begin with the history of this checkout.
HAS_HISTORY = subprocess.run(["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", "HEAD"], capture_output=True).returncode == 0


def blocks(page, language):
    """The fenced blocks of one language on a page, as one script."""
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.S | re.M))


def start_program(page, server, directory, *words, **more):
    """Starts the page's Python in a directory."""
    environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key, **more}
    return subprocess.Popen(
        [sys.executable, "-c", blocks(page, "python"), *words], env=environment, cwd=directory, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


class GuideTests(unittest.TestCase):
    def run_page(self, page, server):
        """Runs the page's shell blocks in a directory of their own, and returns what they print."""
        path = os.pathsep.join([os.path.dirname(TRAY or ""), os.environ["PATH"]])
        environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key, "PATH": path}
        with tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", blocks(page, "sh")], env=environment, cwd=directory, capture_output=True,
                text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_every_page_with_commands_for_a_server_is_run_here(self):
        pages = [path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *(ROOT / "Docs").rglob("*.md")]]
        source = pathlib.Path(__file__).read_text()
        # Tools/embed runs the others.
        missing = [page for page in pages if blocks(page, "sh") and f'run_page("{page}"' not in source]
        self.assertEqual(sorted(missing), ["Docs/getting-started/embed.md", "Docs/guides/logging.md"])

    def test_the_http_guide_works(self):
        with Server() as server:
            printed = self.run_page("Docs/guides/http.md", server)
            self.assertIn('"result":"appended"', printed)
            tray = server.get("/v1/users/ann/tray").json
            # The question that was answered stays.
            self.assertEqual((tray["unseen"], tray["awaiting"], tray["total"]), (0, 0, 1))
            self.assertEqual(server.get("/v1/users/bob/tray").json["unread"], 2)

    @unittest.skipUnless(importlib.util.find_spec("openapi_python_client"), "openapi-python-client is not installed")
    def test_the_http_guide_generates_a_client_that_works(self):
        with Server() as server, tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            environment = {**os.environ, "URL": f"http://127.0.0.1:{server.port}", "KEY": server.key}
            done = subprocess.run(
                [sys.executable, "-c", blocks("Docs/guides/http.md", "python")], env=environment, cwd=directory,
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout[-2_000:] + done.stderr[-2_000:])
            self.assertEqual(server.get("/v1/users/cleo/tray").json["unread"], 1)

    def start_mails(self, server, mailbox, directory):
        """Starts the program of the guide to reminders, and waits until it knows where the log stands."""
        program = start_program("Docs/guides/reminders.md", server, directory, SMTP=mailbox.address)
        position = pathlib.Path(directory, "mail.position")
        while not position.exists():
            self.assertIsNone(program.poll(), "the program ended")
            time.sleep(0.05)
        return program

    def test_the_guide_to_reminders_mails_what_is_unread_at_least_once_and_nothing_else(self):
        with Server() as server, Mailbox() as mailbox, tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            program = self.start_mails(server, mailbox, directory)
            try:
                self.assertIn('"result":"appended"', self.run_page("Docs/guides/reminders.md", server))
                self.assertEqual([mail["Subject"] for mail in mailbox.wait(1)], ["Your card expires on Friday"])
                server.notify("bob", title="Muted", thread="t", remindAt="2026-01-01T09:00:00Z", silent=True)
                server.perform(
                    {"kind": "notify", "user": "bob", "key": "read", "title": "Read", "remindAt": "2100-01-01T00:00:00Z"},
                    {"kind": "mark", "user": "bob", "as": "read", "items": ["read"]},
                    {"kind": "edit", "user": "bob", "item": "read", "remindAt": "2026-01-01T09:00:00Z"},
                    {"kind": "notify", "user": "bob", "title": "Unread", "remindAt": "2026-01-01T09:00:00Z"})
                self.assertEqual([mail["Subject"] for mail in mailbox.wait(2)][1:], ["Unread"])
                program.kill()
                program.communicate()
                server.notify("bob", title="While nobody listened", remindAt="2026-01-01T09:00:00Z")
                program = self.start_mails(server, mailbox, directory)
                mails = mailbox.wait(3)
                while "While nobody listened" not in [mail["Subject"] for mail in mails]:
                    self.assertIsNone(program.poll(), "the program ended")
                    mails = mailbox.wait(len(mails) + 1)
                # The one before may come again, as the same message; nothing else does.
                messages = {mail["Message-ID"]: mail["Subject"] for mail in mails}
                self.assertEqual(
                    list(messages.values()), ["Your card expires on Friday", "Unread", "While nobody listened"])
                self.assertEqual(mails[-1]["To"], "bob@example.org")
            finally:
                program.kill()
                program.communicate()

    def test_the_guide_to_approvals_gets_the_first_answer_and_no_other(self):
        with Server() as server, tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            programs = [start_program("Docs/guides/approvals.md", server, directory)]
            while server.get("/v1/users/ann/items/key:deploy-17").status == 404:
                self.assertIsNone(programs[0].poll(), "the program ended")
                time.sleep(0.05)
            # Started again, it waits for the same answer.
            programs.append(start_program("Docs/guides/approvals.md", server, directory))
            self.run_page("Docs/guides/approvals.md", server)
            late = server.post("/v1/users/ann/items/key:deploy-17/action", {"action": "no"})
            self.assertEqual((late.status, late.json["error"], late.json["action"]), (422, "alreadyActed", "yes"))
            for program in programs:
                printed, errors = program.communicate(timeout=60)
                self.assertEqual((printed.strip(), program.returncode), ("yes after lunch", 0), errors)
            self.assertEqual(len([event for event in server.get("/v1/users/ann/history").lines if event["kind"] == "acted"]), 1)

    def test_the_guide_to_approvals_gives_up_when_the_question_expires(self):
        with Server() as server, tempfile.TemporaryDirectory(prefix="traylog-guide.") as directory:
            program = start_program("Docs/guides/approvals.md", server, directory)
            while server.get("/v1/users/ann/items/key:deploy-17").status == 404:
                self.assertIsNone(program.poll(), "the program ended")
                time.sleep(0.05)
            server.call("PATCH", "/v1/users/ann/items/key:deploy-17", {"expiresAt": "2026-01-01T00:00:00Z"})
            printed, errors = program.communicate(timeout=60)
            self.assertEqual((printed.strip(), program.returncode), ("no answer", 0), errors)

    def test_the_readme_works(self):
        with Server() as server:
            self.assertIn('"unread":1', self.run_page("README.md", server))
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unread"], tray["total"]), (0, 1))

    def test_getting_started_with_the_service_rings_the_bell(self):
        with Server() as server:
            printed = self.run_page("Docs/getting-started/service.md", server)
            self.assertIn('data: {"user":"ann"', printed)
            self.assertIn('"unseen":2', printed)
            self.assertEqual(server.get("/v1/users/ann/tray").json["unseen"], 2)

    @unittest.skipUnless(TRAY, "TRAYLOG_TRAY does not name the program")
    def test_getting_started_with_a_device_marks_offline_and_agrees_afterwards(self):
        with Server() as server:
            printed = self.run_page("Docs/getting-started/device.md", server)
            trays = [line for line in printed.splitlines() if '"unread":0' in line and '"pending":[{' in line]
            self.assertTrue(trays, printed)
            tray = server.get("/v1/users/ann/tray").json
            self.assertEqual((tray["unread"], tray["total"]), (0, 1))

    def test_a_push_token_is_registered_as_the_page_shows(self):
        with Server() as server:
            self.run_page("Docs/experimental/compatibility.md", server)
            self.assertIn("740f4707bebcf74f", server.get("/v1/users/ann/devices").body.decode())


@unittest.skipUnless(HAS_HISTORY, "the checkout has no history")
class ScriptTests(unittest.TestCase):
    """The two commands that the README begins with, on programs that are built already."""

    @unittest.skipUnless(TRAYLOG, "TRAYLOG does not name the program")
    def test_the_demo_runs_to_its_end(self):
        done = subprocess.run(
            [ROOT / "Tools/demo"], env=os.environ | {"TRAYLOG": TRAYLOG}, capture_output=True, text=True, errors="replace")
        self.assertEqual(done.returncode, 0, done.stdout[-2_000:] + done.stderr[-2_000:])
        self.assertIn("identical: ", done.stdout)

    @unittest.skipUnless(shutil.which("jq"), "jq is not installed")
    def test_serve_starts_a_server_whose_suggestions_work(self):
        serve = subprocess.Popen([ROOT / "Tools/serve"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env=os.environ | {"TRAYLOG_SERVER": PROGRAM, "TRAYLOG_LISTEN": "127.0.0.1:0"})
        try:
            printed = []
            for line in serve.stdout:
                printed.append(line)
                if line.startswith("The server runs until"):
                    break
            else:
                self.fail("".join(printed) + serve.stderr.read())
            commands = [line.strip() for line in printed if line.startswith("  ")]
            # The live stream does not end by itself.
            commands = [line.replace("curl ", "curl -fsS ") for line in commands if "/live" not in line]
            self.assertEqual(len(commands), 5, printed)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(commands)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"unread":', done.stdout)
        finally:
            serve.terminate()
            serve.wait(timeout=60)
            serve.stdout.close()
            serve.stderr.close()

    @unittest.skipUnless(TRAY and shutil.which("tmux") and shutil.which("jq"), "no client, tmux or jq")
    def test_serve_two_shows_both_trays(self):
        serve = subprocess.Popen(
            [ROOT / "Tools/serve", "--two"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"TRAYLOG_SERVER": PROGRAM, "TRAYLOG_TRAY": TRAY, "TRAYLOG_DETACHED": "1", "TERM": "xterm-256color"})
        tmux = ["tmux", "-L", f"traylog-{serve.pid}"]
        try:
            for pane, user in (("0", "ann"), ("1", "bob")):
                text = ""
                while f"Welcome, {user}" not in text:
                    self.assertIsNone(serve.poll(), "the script ended")
                    time.sleep(0.2)
                    shown = subprocess.run([*tmux, "capture-pane", "-p", "-t", f"two:0.{pane}"], capture_output=True, text=True)
                    text = shown.stdout
        finally:
            subprocess.run([*tmux, "kill-server"], capture_output=True)
            serve.terminate()
            serve.wait(timeout=60)

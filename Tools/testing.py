"""Runs the parts of Tools/test: each in phases, with a table of the time they took, and what failed at the end.

Tools/test calls it, once everything that it needs is installed."""

import argparse
import collections
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER_TESTS = ROOT / "Tools/Server/Tests"
# The files whose tests drive a browser begin so.
BROWSED = ("test_console", "test_report", "test_bell")
LENGTHS = ("quick", "nightly")
# The time limit of Swift tests: minutes without the end of any test, after which a process is aborted, and the test that ran has failed.
STUCK = {"quick": 5, "nightly": 240}
# Seconds after which a Python test has failed, where it is not the time in pytest.ini.
NIGHTLY_SECONDS = 3_600
# What a test may lack in CI. Everything else that one skips for is missing by mistake, and fails the run (`--strict-skips`).
SKIPS = {
    "runs in nightly length": "long by nature",
    "needs the right to mount a file system": "a container may forbid it",
    "needs root, to mount a file system": "a container may forbid it",
    "needs strace, and leave to trace": "a container may forbid it",
    "needs a limit of at most 256 inotify instances": "the machine's setting",
}
if "ID=ubuntu\n" in Path("/etc/os-release").read_text():
    SKIPS["needs chromium"] = "Ubuntu's chromium is a snap, which no container runs"
# Seconds of a suite or file that has not run here yet, by module or file; of all others 3.
GUESSES = {"FuzzTests": 15, "FaultTests": 15, "CrashTests": 9, "ModelTests": 7, "CommandLineTests": 6, "CompatibilityTests": 6,
           "ClusterTests": 6, "DocumentationTests": 1, "TraylogArchiveTests": 1, "TraylogAuditTests": 1, "SampleTests": 1,
           "test_cluster": 115, "test_bell": 110, "test_partitions": 110, "test_console_pages": 95, "test_bell_firefox": 95, "test_bell_life": 40,
           "test_transport": 90, "test_report": 45, "test_device_killed": 45, "test_console_axe": 40, "test_cluster_devices": 35,
           "test_device": 30, "test_console_journeys": 30, "test_keys": 30, "test_schema": 30, "test_live_items": 25}
# What the tests took here last time, and which were flaky in the last nightly run.
SECONDS = ROOT / ".build/test-seconds.json"
FLAKY = ROOT / ".build/test-flaky.json"
# A file system in memory, on Linux.
MEMORY = "/dev/shm"
BOLD = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
LOCK = threading.Lock()
WITHIN = "    the process ended within this test"


def say(text):
    with LOCK:
        print(text, flush=True)


class Failed(Exception):
    """A phase failed, and said why."""


class Result:
    """How one test ended."""

    def __init__(self, name, seconds, outcome, rerun, message=""):
        self.name, self.seconds, self.outcome, self.rerun, self.message = name, seconds, outcome, rerun, message


class Run:
    """All phases of one call, what they took, and what they found."""

    def __init__(self, parts, length, jobs, work):
        self.parts, self.length, self.jobs, self.work = parts, length, jobs, Path(work)
        self.phases, self.results, self.broken = [], [], []
        self.running, self.built = set(), None
        try:
            self.known = json.loads(SECONDS.read_text())
        except (OSError, ValueError):
            self.known = {}
        # Where the library's tests have their files, if not in the usual place.
        self.memory = None
        self.environment = {**os.environ, "TRAYLOG_TESTS": length, "TRAYLOG_STRICT": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        if {"api", *SERVED} & set(parts):
            self.environment["TRAYLOG_BUILD_SERVER"] = "1"

    def phase(self, name, body):
        """Runs a phase; one that fails ends those that need it, but no other lane."""
        say(f"\033[1m==> {name}\033[0m" if BOLD else f"==> {name}")
        begin = time.monotonic()
        state = "failed"
        try:
            body()
            state = "ok"
        except Failed as failure:
            with LOCK:
                self.broken.append((name, str(failure)))
            raise
        finally:
            with LOCK:
                self.phases.append((name, time.monotonic() - begin, state))

    def call(self, *command, quiet=False, **more):
        """Runs a command. What it prints is shown as it comes, or where it failed."""
        log = self.work / f"log-{threading.get_ident()}-{time.monotonic_ns()}"
        environment = {**self.environment, **more}
        with open(log, "wb") as file:
            process = subprocess.Popen(
                [str(part) for part in command], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                stdout=file if quiet else None, stderr=subprocess.STDOUT if quiet else None)
            code = process.wait()
        if code != 0:
            if quiet:
                say(log.read_text(errors="replace")[-20_000:])
            raise Failed(f"exit {code}: {shlex.join(str(part) for part in command)}")
        return log.read_text(errors="replace") if quiet else ""

    def watched(self, command, log, progress, environment):
        """Runs a process of Swift tests. One in which no test ends any more is aborted, so that the other results are not lost.

        `progress` is a file that grows with each test. Answers the exit status, and why it was aborted, if it was."""
        minutes = STUCK[self.length]
        with open(log, "wb") as file:
            # A group of its own: a stuck process is ended together with those that it started.
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True)
            with LOCK:
                self.running.add(process.pid)
            size, since = -1, time.monotonic()
            try:
                while True:
                    try:
                        return process.wait(timeout=10), ""
                    except subprocess.TimeoutExpired:
                        now = progress.stat().st_size if progress.exists() else 0
                        if now != size:
                            size, since = now, time.monotonic()
                        elif time.monotonic() - since > 60 * minutes:
                            break
                threads = waits(process.pid)
                os.killpg(process.pid, signal.SIGABRT)
                return process.wait(), f"no test ended for {minutes} minutes; its threads: {threads}"
            finally:
                with LOCK:
                    self.running.discard(process.pid)

    def interrupted(self, number, _):
        """Ends at once, with all that was started."""
        for pid in list(self.running):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for place in (self.work, self.memory):
            if place:
                shutil.rmtree(place, ignore_errors=True)
        os._exit(128 + number)

    def add(self, results):
        with LOCK:
            self.results += results

    # MARK: Phases

    def build(self, *what):
        self.call("swift", "build", *BUILD, *what, quiet="--build-tests" not in what)
        self.built = self.bin_path(*what)

    def bin_path(self, *options):
        return Path(self.call("swift", "build", *options, "--show-bin-path", quiet=True).strip().splitlines()[-1])

    def swift(self):
        """The Swift tests, by several processes: within one, tests that block threads starve tests that wait for tasks."""
        bundle = self.built / "traylogPackageTests.xctest"
        base = [str(bundle), "--testing-library", "swift-testing"]
        listed = self.call(*base, "--list-tests", quiet=True).splitlines()
        suites = collections.OrderedDict()
        for line in listed:
            if re.match(r"\w+\.", line):
                # A suite, or a test outside of any.
                if ("api" if line.startswith("TraylogServerTests.") else "library") in self.parts:
                    suites.setdefault(re.sub(r"/[^/]*$", "", line) if "/" in line else line, 0)
        if not suites:
            raise Failed("the tests are not listed")
        work = collections.deque(self.portions(list(suites)))
        # One more than processors: tests wait for the disk and for the programs that they start.
        workers = self.jobs + 1
        # Stores in memory, where a sync takes no time; those of nightly tests are on the disk.
        if self.length != "nightly" and os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > 4 << 30:
            self.memory = tempfile.mkdtemp(prefix="traylog-test.", dir=MEMORY)
            # As open as /tmp: some tests become another user.
            os.chmod(self.memory, 0o1777)
        say(f"    {len(suites)} suites in {len(work)} portions, {workers} at a time")
        failures = []

        def worker():
            while True:
                with LOCK:
                    if not work:
                        return
                    portion = work.popleft()
                try:
                    self.add(self.swift_tests(base, portion))
                except Failed as failure:
                    failures.append(str(failure))

        try:
            self.together([worker] * workers)
        finally:
            if self.memory:
                shutil.rmtree(self.memory, ignore_errors=True)
        if failures:
            raise Failed("; ".join(failures))

    def portions(self, suites):
        """Suites in portions of about the same length, the longest first: by what they took last time, or take by experience."""
        seconds = {suite: self.seconds(suite) for suite in suites}
        bins = [[0.0, []] for _ in range(16 * self.jobs)]
        for suite in sorted(suites, key=lambda suite: -seconds[suite]):
            least = min(bins, key=lambda portion: portion[0])
            least[0] += seconds[suite] + 0.1
            least[1].append(suite)
        bins = [portion for portion in bins if portion[1]]
        return [portion[1] for portion in sorted(bins, key=lambda portion: -portion[0])]

    def seconds(self, name):
        """What a suite of the library or a file of the server took last time, or takes by experience."""
        return self.known.get(name) or GUESSES.get(name.split(".")[0], 3)

    def swift_tests(self, base, suites):
        number = time.monotonic_ns()
        stream, log = self.work / f"events-{number}.json", self.work / f"tests-{number}.log"
        pattern = "^(" + "|".join(re.escape(suite) for suite in suites) + ")(/|$)"
        command = [*base, "--no-parallel", "--filter", pattern, "--event-stream-output-path", str(stream),
                   "--event-stream-version", "0"]
        code, stuck = self.watched(command, log, stream, {**self.environment, "TMPDIR": str(self.memory or tempfile.gettempdir())})
        # The bundle itself: `swift test` would build with the flags of another call.
        rerun = f"TRAYLOG_TESTS={self.length} {Path(base[0]).relative_to(ROOT)} {shlex.join(base[1:])}"
        results = swift_results(stream, rerun)
        for result in results if stuck else []:
            if result.message == WITHIN:
                result.message = f"    stuck: {stuck}"
        if code != 0 and not any(result.outcome == "failed" for result in results):
            say(log.read_text(errors="replace")[-6_000:])
            last = results[-1].name if results else "any test"
            raise Failed(f"the tests ended with {code}, in or after {last}: {' '.join(suites)}")
        for result in results:
            if result.outcome == "failed":
                say(f"✘ {result.name}\n{result.message}")
        return results

    def remember_seconds(self):
        seconds = collections.defaultdict(float)
        for result in self.results:
            if result.outcome != "skipped":
                # A suite, a class of a file, or a test outside of any.
                end = "/" if "/" in result.name else "." if result.name.startswith("test_") else None
                name = result.name.rsplit(end, 1)[0] if end else result.name
                seconds[name] += result.seconds
        if len(seconds) > 50:
            SECONDS.write_text(json.dumps({**self.known, **seconds}))

    def together(self, bodies):
        """Runs functions beside each other, and raises what the first of them raised."""
        errors = []

        def guarded(body):
            try:
                body()
            except BaseException as error:  # noqa: BLE001, it is raised again
                errors.append(error)

        threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def python_tests(self, files, only=None):
        """Tests of the server, by pytest's workers. A browser has its own timing: what fails in one is tried once more, and listed."""
        if only:
            files = [f"{files[0]}::{only.replace('.', '::')}"]
        results = self.pytest(files)
        browsed = [result for result in results if result.outcome == "failed" and result.name.startswith(BROWSED)
                   and result.name.count(".") == 2]
        if 0 < len(browsed) <= 3:
            nodes = ["{}.py::{}::{}".format(*result.name.split(".")) for result in browsed]
            passed = {result.name for result in self.pytest(nodes) if result.outcome == "passed"}
            for result in browsed:
                if result.name in passed:
                    result.outcome = "flaky"
        self.add(results)

    def pytest(self, nodes):
        number = time.monotonic_ns()
        out, log, known = (self.work / f"python-{number}.{end}" for end in ("jsonl", "log", "seconds"))
        known.write_text(json.dumps({**GUESSES, **self.known}))
        options = ["-n", str(self.jobs), "--results", str(out), "--seconds", str(known)]
        options += ["--timeout", str(NIGHTLY_SECONDS)] if self.length == "nightly" else []
        programs = {"TRAYLOG": "traylog", "TRAYLOG_TRAY": "traylog-tray", "TRAYLOG_SERVER": "traylog-server"}
        environment = {**self.environment, **{name: str(self.built / program) for name, program in programs.items()}}
        # The bell's counts are long on request, `Tools/test bell`, and short among other parts.
        environment["TRAYLOG_BELL"] = "long" if self.length == "nightly" or self.parts == ["bell"] else "short"
        # A group of its own, so that an interrupt ends what the tests started, too.
        process = subprocess.Popen(
            [self.environment.get("TRAYLOG_PYTHON", "python3"), "-m", "pytest", *options, *nodes], cwd=SERVER_TESTS,
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True)
        with LOCK:
            self.running.add(process.pid)
        with open(log, "w") as file:
            for line in process.stdout:
                file.write(line)
                if line.startswith("✘"):
                    say(line.rstrip())
        code = process.wait()
        with LOCK:
            self.running.discard(process.pid)
        try:
            found = [json.loads(line) for line in out.read_text().split("\n") if line]
        except (OSError, ValueError):
            found = []
        # 1: tests failed, and are among the results.
        if not found or code not in (0, 1):
            say(log.read_text(errors="replace")[-6_000:])
            raise Failed(f"pytest ended with {code} after {len(found)} tests")
        return [Result(name, seconds, outcome, f"Tools/test server --only {name}", message)
                for name, seconds, outcome, message in found]


def waits(pid):
    """What the threads of a process wait in, as the kernel names it: for the report of one that is stuck."""
    found = collections.Counter()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found[f"{(task / 'comm').read_text().strip()} in {(task / 'wchan').read_text().strip() or '?'}"] += 1
        except OSError:
            continue
    return ", ".join(f"{count} {name}" for name, count in found.most_common())


def swift_results(path, rerun):
    """The results in an event stream of Swift Testing. `rerun` is the command that takes a filter."""
    starts, ends, issues, skipped, functions = {}, {}, collections.defaultdict(list), {}, {}
    try:
        # `splitlines` would also split at the Unicode separators that a test's message may contain.
        lines = path.read_text(errors="replace").split("\n")
    except OSError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
            payload = record["payload"]
        except (ValueError, TypeError):
            continue  # The last line of a process that was killed while it wrote.
        if record["kind"] == "test":
            if payload["kind"] == "function":
                functions[payload["id"]] = re.sub(r"/[^/]*\.swift:\d+:\d+$", "", payload["id"])
            continue
        test, kind = payload.get("testID"), payload["kind"]
        if kind == "testStarted":
            starts[test] = payload["instant"]["absolute"]
        elif kind == "testEnded":
            ends[test] = payload["instant"]["absolute"]
        elif kind == "testSkipped":
            # The reason stands at the end of what is said about it, in quotation marks.
            said = " ".join(message["text"] for message in payload.get("messages", []))
            reason = re.search(r'skipped: "(.*)"', said, re.S)
            skipped[test] = reason[1] if reason else ""
        elif kind == "issueRecorded" and not payload["issue"].get("isKnown"):
            place = payload["issue"].get("sourceLocation") or {}
            where = f"{place.get('fileID', '')}:{place.get('line', '')}: "
            issues[test].append("    " + where + " ".join(message["text"] for message in payload.get("messages", [])))
    results = []
    for test, name in functions.items():
        again = f"{rerun} --filter " + shlex.quote(re.escape(name.split("(")[0]))
        if test in skipped:
            results.append(Result(name, 0, "skipped", again, skipped[test]))
        elif test in ends and test in starts:
            outcome = "failed" if issues[test] else "passed"
            results.append(Result(name, ends[test] - starts[test], outcome, again, "\n".join(issues[test])[:4_000]))
        elif test in starts:
            results.append(Result(name, 0, "failed", again, WITHIN))
    return results


# MARK: Parts

PARTS = {
    "lint": "the format of all Swift files",
    "library": "builds the package, and runs the tests of the library and the command line",
    "api": "the server's libraries, in process",
    "smoke": "the main commands of the program, end to end",
    "install": "the installation: what it writes, and that it can be removed",
    "proofs": "proofs and reports, checked by a program that shares no code, and a report in a browser",
    "server": "the service and the device client, against real programs",
    "console": "the console and the reports, in a browser",
    "bell": "the bell for web pages, in a browser, on a page of another origin",
    "cluster": "several servers on real brokers, and partitions",
    "docs": "that each promise's tests exist; how many declarations are public; the reference, without a warning and without a gap, its samples, compiled; licences",
    "manifests": "what an embedder resolves; the server without experimental parts; both manifests name the same targets",
    "embed": "a package that depends on this one by URL, with both build systems",
    "parts": "the server as a package of its own, on the library's public API, without experimental parts",
    "benchmarks": "builds the benchmarks, runs them small, and counts allocations, pages, syncs and instructions",
    "torture": "power cuts, kills, failing and full disks, damage",
    "sanitize": "races and memory errors, by the compiler's sanitizers",
    "fuzz": "what reads bytes, by libFuzzer, a minute for each target",
}
DEFAULT = ["lint", "library", "smoke"]
# What `--full` leaves to `Tools/test nightly`: builds that nothing else uses, and what takes long by nature.
NIGHTLY = ["embed", "parts", "benchmarks", "torture", "sanitize", "fuzz"]
# The parts whose tests are Python files.
SERVED = ["server", "console", "bell", "cluster"]
# Without the index, SwiftPM finds no tests.
BUILD = ["--explicit-target-dependency-import-check", "error"]


def python_files(part):
    """The test files of the server that belong to a part; each belongs to one."""
    files = sorted(path.name for path in SERVER_TESTS.glob("test_*.py"))
    groups = {
        "console": [name for name in files if name.startswith(("test_console", "test_report"))],
        "bell": [name for name in files if name.startswith("test_bell")],
        "cluster": [name for name in files if name.startswith(("test_cluster", "test_partitions"))],
    }
    groups["server"] = [name for name in files if not any(name in group for group in groups.values())]
    return groups[part]


class Plan:
    """The parts, each by its name. All of them use one build."""

    def __init__(self, run):
        self.run = run

    def lint(self):
        self.run.phase("Lint", lambda: self.run.call(
            "swift", "format", "lint", "--strict", "--parallel", "--recursive", "Sources", "Tools", "Tests", "Package.swift"))

    def build(self):
        parts = set(self.run.parts)
        if parts & {"library", "api"}:
            return self.run.phase("Build the package and its tests", lambda: self.run.build("--build-tests"))
        if "docs" in parts:
            return self.run.phase("Build the package", self.run.build)
        products = ["traylog"] if parts & {"smoke", "install", "proofs", *SERVED} else []
        products += ["traylog-tray", "traylog-server"] if parts & set(SERVED) else []

        def programs():
            for product in products:
                self.run.build("--product", product)

        return self.run.phase("Build the programs", programs) if products else None

    def swift(self):
        names = {"library": "Library", "api": "libraries of the server"}
        self.run.phase(", ".join(names[part] for part in names if part in self.run.parts), self.run.swift)

    def smoke(self):
        self.run.phase("Smoke", lambda: self.run.call("Tools/smoke", self.run.built / "traylog", quiet=True))

    def install(self):
        self.run.phase("Install", lambda: self.installed(self.run.built / "traylog"))

    def installed(self, program):
        """What Tools/install writes, from a program that is built: a page for each command, with its options; --remove leaves nothing."""
        prefix = self.run.work / "prefix"
        self.run.call("Tools/install", "--prefix", prefix, "--program", program, quiet=True)
        root = json.loads(self.run.call(prefix / "bin/traylog", "--experimental-dump-help", quiet=True))["command"]
        commands = {"traylog": root} | {f"traylog-{command['commandName']}": command for command in root["subcommands"]}
        pages = {page.stem: page.read_text() for page in (prefix / "share/man/man1").iterdir()}
        if set(pages) != set(commands):
            raise Failed(f"pages without a command, or the other way round: {sorted(set(pages) ^ set(commands))}")
        for name, page in pages.items():
            names = [option["name"] for argument in commands[name].get("arguments", []) if argument["shouldDisplay"]
                     for option in argument.get("names", []) if option["kind"] == "long"]
            missing = [option for option in names if not re.search(rf"^\.It .*-{option}\b", page, re.M)]
            missing += set(re.findall(r"^\.Xr (\S+)", page, re.M)) - set(pages)
            if missing or commands[name]["abstract"] not in page:
                raise Failed(f"the page {name} lacks its abstract, or {missing}")
        self.run.call("Tools/install", "--prefix", prefix, "--remove", quiet=True)
        left = [str(path) for path in prefix.rglob("*") if path.is_file()]
        if left:
            raise Failed(f"--remove left {left}")

    def proofs(self):
        def checked():
            said = self.run.call("Tools/proofs", self.run.built / "traylog", quiet=True)
            reasons = re.findall(r"^skipped: (.*)$", said, re.M)
            self.run.add([Result("Tools/proofs", 0, "skipped", "Tools/test proofs", reason) for reason in reasons])

        self.run.phase("Proofs", checked)

    def python(self, only=None):
        """The server's tests of all parts in one phase: no processor waits for the longest file of a part."""
        titles = {"server": "Service and device", "console": "console and reports", "bell": "bell", "cluster": "cluster and partitions"}
        parts = [part for part in SERVED if part in self.run.parts]
        # In nightly length the cluster's tests create network interfaces, which fails requests of browsers (ERR_NETWORK_CHANGED).
        groups = [parts] if self.run.length != "nightly" else [
            [part for part in parts if part != "cluster"], [part for part in parts if part == "cluster"]]
        for group in filter(None, groups):
            files = [file for part in group for file in python_files(part)]
            if only:
                files = [only.split(".")[0] + ".py"]
            test = only.split(".", 1)[1] if only and "." in only else None
            self.run.phase(", ".join(titles[part] for part in group), lambda: self.run.python_tests(files, test))

    def benchmarks(self):
        options = ["--package-path", "Tools/Benchmarks", "--scratch-path", ".build/benchmarks", "-c", "release"]
        self.run.phase("Build the benchmarks", lambda: self.run.call(
            "swift", "build", *options, "--product", "traylog-bench", quiet=True))
        bench = self.run.bin_path(*options) / "traylog-bench"

        def small():
            self.run.call("make", "-s", "-C", "Tools/Benchmarks", f"BUILD={ROOT}/.build/benchmarks-c", quiet=True)
            common = ["--runs", "1", "--cold-memory", "--json", "--references", ROOT / ".build/benchmarks-c",
                      "--directory", self.run.work]
            for cases in (["bulk-100k", "concurrent-64", "--filter", "lmdb-log", "--events", "20000"],
                          ["badge", "--filter", "lmdb-get", "--events", "20000", "--queries", "1000"],
                          ["page", "--filter", "lmdb-naive", "--events", "20000", "--users", "500", "--queries", "1000"]):
                self.run.call(bench, *cases, *common, quiet=True)

        self.run.phase("Benchmarks, small", small)
        self.run.phase("Allocations, pages, syncs and instructions", lambda: self.run.call(
            bench, "count", "--references", ROOT / ".build/benchmarks-c", "--directory", self.run.work, quiet=True))

    def docs(self):
        self.run.phase("Promises", lambda: self.run.call("python3", "Tools/promises.py", quiet=True))
        self.run.phase("Licences", lambda: self.run.call("Tools/third-party", "--check", quiet=True))
        self.run.phase("The table of foldings", lambda: self.run.call("Tools/make-folding", "--check", quiet=True))
        self.run.phase("Samples", lambda: self.run.call("Tools/samples", quiet=True))
        self.run.phase("Public declarations", lambda: self.run.call("Tools/public-api", quiet=True))
        self.run.phase("Reference", lambda: self.run.call("Tools/reference", self.run.work / "reference", quiet=True))

    def manifests(self):
        self.run.phase("Manifests", lambda: self.run.call("Tools/embed", "resolved", quiet=True))

    def embed(self):
        self.run.phase("Embed", lambda: self.run.call("Tools/embed", "both", quiet=True))

    def parts(self):
        """The server as a package of its own sees the library's public API only; without experimental parts it needs no libnats."""
        options = ["--package-path", "Tools/Server", "--scratch-path", ".build/parts", "--product", "traylog-server"]

        def plain():
            self.run.call("swift", "build", *options, quiet=True, TRAYLOG_SERVER_PARTS="")
            program = self.run.bin_path(*options[:4]) / "traylog-server"
            if "nats" in self.run.call("ldd", program, quiet=True):
                raise Failed("the server without experimental parts needs libnats")

        self.run.phase("The server without experimental parts", plain)
        self.run.phase("The server as a package of its own", lambda: self.run.call("swift", "build", *options, quiet=True))

    def torture(self):
        self.run.phase("Torture", lambda: self.run.call("Tools/torture"))

    def sanitize(self):
        for name in ("thread", "address"):
            self.run.phase(f"Sanitizer: {name}", lambda: self.run.call("Tools/sanitize", name))

    def fuzz(self):
        self.run.phase("Fuzz", lambda: self.run.call("Tools/fuzz"))


def perform(plan, only):
    """Runs the parts: one build, then what uses it in two lanes, then what builds for itself."""
    parts = plan.run.parts

    def lane(names, *arguments):
        for name in names:
            try:
                getattr(plan, name)(*arguments)
            except Failed:
                continue

    lane([part for part in ("lint",) if part in parts])
    try:
        plan.build()
    except Failed:
        return
    swift = ["swift"] if {"library", "api"} & set(parts) else []
    lanes = [[*swift, *(part for part in ("smoke", "install", "proofs", "docs", "manifests") if part in parts)]]
    bodies = [lambda: lane(lanes[0])]
    if set(SERVED) & set(parts):
        bodies.append(lambda: lane(["python"], only))
    plan.run.together(bodies)
    # These build packages of their own, in which the server's targets would be there twice.
    plan.run.environment.pop("TRAYLOG_BUILD_SERVER", None)
    lane([part for part in NIGHTLY if part in parts])


def report(run, begin, strict):
    """The tables at the end, and what failed: the last line counts."""
    skipped = [result for result in run.results if result.outcome == "skipped"]
    reasons = collections.Counter(result.message.splitlines()[0] if result.message else "without a reason" for result in skipped)
    missing = {reason: count for reason, count in reasons.items() if reason not in SKIPS}
    if strict:
        run.broken += [(f"{count} skipped", reason) for reason, count in missing.items()]
    flaky = [result for result in run.results if result.outcome == "flaky"]
    if run.length == "nightly":
        run.broken += [("Flaky in two nightly runs", name) for name in flaky_again(flaky)]
    counts = collections.Counter(result.outcome for result in run.results)
    print(f"\n{'PHASE':<40} {'SECONDS':>8}")
    for name, seconds, state in run.phases:
        print(f"{name:<40} {seconds:>8.1f}{'' if state == 'ok' else '  failed'}")
    print(f"{'all':<40} {time.monotonic() - begin:>8.1f}")
    slowest = sorted(run.results, key=lambda result: -result.seconds)[:20]
    if slowest:
        print(f"\n{'SLOWEST TESTS':<92} {'SECONDS':>8}")
        for result in slowest:
            print(f"{result.name[:92]:<92} {result.seconds:>8.1f}")
    failed = [result for result in run.results if result.outcome == "failed"]
    if failed or run.broken:
        print("\nFAILED")
        for result in failed:
            print(f"✘ {result.name}\n{result.message}\n    again: {result.rerun}")
        for name, reason in run.broken:
            print(f"✘ {name}: {reason}")
    if flaky:
        print("\nFLAKY: failed, and passed on a second run. Find out why: it may be the program.")
        for result in flaky:
            print(f"? {result.name}\n{result.message}\n    again: {result.rerun}")
    # A phase that broke is a failure, also where no test failed.
    print(f"\n{counts['passed'] + len(flaky)} passed, {len(failed) + len(run.broken)} failed, {len(skipped)} skipped", flush=True)
    for reason, count in reasons.most_common():
        print(f"    {count} skipped: {reason}{'' if reason in SKIPS else ' (fails in CI)'}")
    return 1 if failed or run.broken else 0


def flaky_again(flaky):
    """Which tests were flaky in the last nightly run, too."""
    try:
        last = json.loads(FLAKY.read_text())
    except (OSError, ValueError):
        last = []
    names = [result.name for result in flaky]
    FLAKY.write_text(json.dumps(names))
    return sorted(set(names) & set(last))


def main():
    parser = argparse.ArgumentParser(
        prog="Tools/test", description="Runs the tests: without a part, the quick form of those of the library.",
        epilog="Parts: " + "; ".join(f"{name}: {text}" for name, text in PARTS.items()) + ".")
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, "nightly", []], help=", ".join(PARTS) + "; nightly: all of them, in nightly length")
    parser.add_argument("--full", action="store_true", help=f"all parts but {', '.join(NIGHTLY)}: every test once, random ones in quick length")
    parser.add_argument("--length", choices=LENGTHS, help="how long random tests go on")
    parser.add_argument("--strict-skips", action="store_true", default=os.environ.get("CI") == "true",
                        help="a test that lacks something fails the run; the default where CI is true")
    parser.add_argument("--list", action="store_true", help="lists the parts and their tests")
    parser.add_argument("--only", metavar="FILE[.CLASS[.TEST]]", help="of the server's tests, only this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="tests at a time")
    parser.add_argument("--needs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    length = "nightly" if "nightly" in options.parts else options.length or "quick"
    parts = [part for part in PARTS if part not in NIGHTLY] if options.full else options.parts or DEFAULT
    parts = [*PARTS] if "nightly" in parts else [*dict.fromkeys(parts)]
    if options.needs:
        print("\n".join([*parts, length]))
        return 0
    if options.list:
        for name, text in PARTS.items():
            print(f"{name:<12} {text}{' (default)' if name in DEFAULT else ' (nightly)' if name in NIGHTLY else ''}")
            for file in python_files(name) if name in SERVED else []:
                print(f"             Tools/Server/Tests/{file}")
        return 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traylog-test.") as work:
        run = Run(parts, length, max(1, options.jobs), work)
        # A shell that runs this in the background lets its programs ignore interrupts, which tests send to theirs.
        signal.signal(signal.SIGINT, run.interrupted)
        signal.signal(signal.SIGTERM, run.interrupted)
        perform(Plan(run), options.only)
        if length == "quick":
            run.remember_seconds()
        return report(run, begin, options.strict_skips)


if __name__ == "__main__":
    sys.exit(main())

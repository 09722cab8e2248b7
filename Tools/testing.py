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
# Not the library's `.build`: with two packages in one directory, SwiftPM may build from the wrong package's description.
SERVER_BUILD = ["--package-path", "Tools/Server", "--scratch-path", ".build-server"]
# The files whose tests drive a browser begin so.
BROWSED = ("test_console", "test_report", "test_bell")
LENGTHS = ("quick", "full", "nightly")
# Minutes without the end of any test, after which a process counts as stuck. The slowest test takes 5, alone.
STUCK = {"quick": 20, "full": 20, "nightly": 240}
# Seconds of a suite or file that has not run here yet, by module or file; of all others 3.
GUESSES = {"FuzzTests": 15, "FaultTests": 15, "CrashTests": 9, "ModelTests": 7, "CommandLineTests": 6, "CompatibilityTests": 6,
           "ClusterTests": 6, "DocumentationTests": 1, "TraylogArchiveTests": 1, "TraylogAuditTests": 1, "SampleTests": 1,
           "test_cluster": 115, "test_bell": 110, "test_partitions": 110, "test_console_pages": 95, "test_bell_firefox": 95,
           "test_transport": 90, "test_report": 45, "test_device_killed": 45, "test_console_axe": 40, "test_cluster_devices": 35,
           "test_device": 30, "test_console_journeys": 30, "test_keys": 30, "test_schema": 30, "test_live_items": 25}
# What the tests took here last time.
SECONDS = ROOT / ".build/test-seconds.json"
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

    def __init__(self, many, length, jobs, work):
        self.many, self.length, self.jobs, self.work = many, length, jobs, Path(work)
        self.phases, self.results, self.broken = [], [], []
        self.running, self.bin_paths = set(), {}
        try:
            self.known = json.loads(SECONDS.read_text())
        except (OSError, ValueError):
            self.known = {}
        # Where the library's tests have their files, if not in the usual place.
        self.memory = None
        # SwiftPM takes one build of a package at a time.
        self.environment = {**os.environ, "TRAYLOG_TESTS": length, "TRAYLOG_STRICT": "1", "PYTHONDONTWRITEBYTECODE": "1"}

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

    def watched(self, command, log, progress, environment=None):
        """Runs a process of tests. One in which no test ends any more is aborted, so that the other results are not lost.

        `progress` is a file that grows with each test. Answers the exit status, and why it was aborted, if it was."""
        minutes = STUCK[self.length]
        with open(log, "wb") as file:
            # A group of its own: a stuck process is ended together with those that it started.
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment or self.environment, stdin=subprocess.DEVNULL, stdout=file,
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

    def lint(self):
        self.call("swift", "format", "lint", "--strict", "--parallel", "--recursive", "Sources", "Tools", "Tests", "Package.swift")

    def build(self):
        self.call("swift", "build", "--build-tests", "--explicit-target-dependency-import-check", "error")

    def bin_path(self, *options):
        # Asked once: SwiftPM answers nobody while it builds.
        if options not in self.bin_paths:
            path = self.call("swift", "build", *options, "--show-bin-path", quiet=True).strip().splitlines()[-1]
            self.bin_paths[options] = Path(path)
        return self.bin_paths[options]

    def library(self):
        """All tests of the library, by several processes: within one, tests that block threads starve tests that wait for tasks."""
        bundle = self.bin_path() / "traylogPackageTests.xctest"
        base = [str(bundle), "--testing-library", "swift-testing"]
        listed = self.call(*base, "--list-tests", quiet=True).splitlines()
        suites = collections.OrderedDict()
        for line in listed:
            if re.match(r"\w+\.", line):
                # A suite, or a test outside of any.
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
        say(f"    {len(listed)} tests in {len(work)} portions, {workers} at a time")
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
                name = result.name.rsplit("/", 1)[0] if "/" in result.name else result.name.split(".")[0] + ".py"
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

    def python_tests(self, files, programs, jobs):
        python = self.environment.get("TRAYLOG_PYTHON", "python3")
        environment = {**self.environment, **{name: str(path) for name, path in programs.items()}}
        # The bell's counts are long on request, `Tools/test bell`, and short among other parts.
        environment["TRAYLOG_BELL"] = "short" if self.many else "long"
        work = collections.deque(sorted(files, key=lambda file: -self.seconds(file)))

        def outcomes(file, test=None):
            number = time.monotonic_ns()
            out, log = self.work / f"python-{number}.json", self.work / f"python-{number}.log"
            name = f"{file}:{test}" if test else file
            code, stuck = self.watched([python, str(SERVER_TESTS / "run.py"), name, str(out)], log, log, environment)
            try:
                return json.loads(out.read_text())
            except (OSError, ValueError):
                say(log.read_text(errors="replace")[-6_000:])
                return [[f"{file[:-3]}.all", 0, "failed", stuck or f"the tests ended with {code}"]]

        def worker():
            while True:
                with LOCK:
                    if not work:
                        return
                    file = work.popleft()
                rerun = f"Tools/test server --only {file[:-3]}"
                results = [Result(name, seconds, outcome, f"{rerun}.{name.split('.', 1)[1]}" if "." in name else rerun, message)
                           for name, seconds, outcome, message in outcomes(file)]
                failed = [result for result in results if result.outcome == "failed"]
                for result in failed:
                    say(f"✘ {result.name}\n{result.message}")
                    # A browser has its own timing. A single failure there is tried once more, and listed in either case.
                    if file.startswith(BROWSED) and len(failed) == 1 and result.name.count(".") == 2:
                        again = outcomes(file, result.name.split(".", 1)[1])
                        if [outcome for _, _, outcome, _ in again] == ["passed"]:
                            result.outcome = "flaky"
                self.add(results)

        self.together([worker] * jobs)


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
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        payload = record["payload"]
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
    "smoke": "the main commands of the program, end to end",
    "install": "the installation: what it writes, and that it can be removed",
    "proofs": "proofs and reports, checked by a program that shares no code, and a report in a browser",
    "server": "the service and the device client, against real programs",
    "console": "the console and the reports, in a browser",
    "bell": "the bell for web pages, in a browser, on a page of another origin",
    "cluster": "several servers on real brokers, and partitions",
    "benchmarks": "builds the benchmarks, runs them small, and counts allocations, pages and syncs",
    "docs": "that each promise's tests exist; how many declarations are public; the reference, without a warning and without a gap, and its samples, compiled",
    "embed": "a package that depends on this one by URL, with both build systems; among other parts with one",
}
DEFAULT = ["lint", "library", "smoke"]
# What `--full` leaves to the nightly workflow: it needs the release build, which nothing else uses.
NIGHTLY = ["benchmarks"]


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
    """What the parts share: programs that several of them need are built once."""

    def __init__(self, run):
        self.run = run
        self.server = None
        # Where the programs of the package's own build are, once there is one.
        self.built = None
        self.building = threading.Lock()

    def server_programs(self):
        """The server, and the programs that its tests use beside it."""
        with self.building:
            if self.built is None:
                self.run.phase("Build the programs", lambda: [
                    self.run.call("swift", "build", "--product", product, quiet=True) for product in ("traylog", "traylog-tray")])
                self.built = self.run.bin_path()
            if self.server is None:
                options = [*SERVER_BUILD, "--product", "traylog-server"]
                self.run.phase("Build the server", lambda: self.run.call(
                    "swift", "build", *options, quiet=True))
                self.server = self.run.bin_path(*SERVER_BUILD)
        return {"TRAYLOG_SERVER": self.server / "traylog-server", "TRAYLOG_TRAY": self.built / "traylog-tray",
                "TRAYLOG": self.built / "traylog"}

    def server_libraries(self):
        """The Swift tests of the server's libraries, and that the program can be built without the experimental ones."""

        def plain():
            self.run.call("swift", "build", *SERVER_BUILD, "--product", "traylog-server", quiet=True,
                          TRAYLOG_SERVER_PARTS="")
            program = self.run.bin_path(*SERVER_BUILD) / "traylog-server"
            if "nats" in self.run.call("ldd", program, quiet=True):
                raise Failed("the server without experimental parts needs libnats")

        def tests():
            log = self.run.call("swift", "test", *SERVER_BUILD, "--disable-xctest", quiet=True)
            counts = re.search(r"Test run with (\d+) tests?", log)
            if counts is None or int(counts[1]) == 0:
                raise Failed("no test of the server's libraries ran")

        with self.building:
            self.run.phase("The server without experimental parts", plain)
            self.run.phase("Libraries of the server", tests)

    # Each part by its name.

    def lint(self):
        self.run.phase("Lint", self.run.lint)

    def library(self):
        self.run.phase("Build the package and its tests", self.run.build)
        self.run.phase("Library", self.run.library)

    def smoke(self):
        program = self.run.bin_path() / "traylog"
        self.run.phase("Smoke", lambda: self.run.call("Tools/smoke", program, quiet=True))

    def install(self):
        program = self.run.bin_path() / "traylog"
        self.run.phase("Install", lambda: self.installed(program))

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
        program = self.run.bin_path() / "traylog"
        self.run.phase("Proofs", lambda: self.run.call("Tools/proofs", program, quiet=True))

    def python_parts(self, names, only=None):
        """The server's tests of one part, or of several in one phase: no processor waits for the longest file of a part."""
        titles = {"server": "Service and device", "console": "Console and reports", "bell": "Bell", "cluster": "Cluster and partitions"}
        files = [file for name in names for file in python_files(name)]
        if only:
            files = [only.split(".")[0] + ".py" + (":" + only.split(".", 1)[1] if "." in only else "")]
        elif "server" in names:
            self.server_libraries()
        programs = self.server_programs()
        self.run.phase(", ".join(titles[name] for name in names), lambda: self.run.python_tests(files, programs, self.run.jobs))

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
        self.run.phase("Allocations, pages and syncs", lambda: self.run.call(
            bench, "count", "--references", ROOT / ".build/benchmarks-c", "--directory", self.run.work, quiet=True))

    def docs(self):
        self.run.phase("Promises", lambda: self.run.call("python3", "Tools/promises.py", quiet=True))
        self.run.phase("The table of foldings", lambda: self.run.call("Tools/make-folding", "--check", quiet=True))
        self.run.phase("Samples", lambda: self.run.call("Tools/samples", quiet=True))
        self.run.phase("Public declarations", lambda: self.run.call("Tools/count-api", quiet=True))
        self.run.phase("Reference", lambda: self.run.call("Tools/reference", self.run.work / "reference", quiet=True))

    def embed(self):
        system = "native" if self.run.many else "both"
        self.run.phase("Embed", lambda: self.run.call("Tools/embed", system, quiet=True))


def perform(plan, parts, only):
    """Runs parts: those that need the debug build after it, and the others beside them."""
    first = [part for part in ("lint", "library") if part in parts]
    python = [part for part in ("server", "console", "bell", "cluster") if part in parts]
    lanes = [
        [part for part in ("smoke", "install", "proofs", "docs", "embed") if part in parts],
        [part for part in ("benchmarks", "python") if part in parts or part == "python" and python],
    ]

    def lane(names):
        for name in names:
            try:
                if name == "python":
                    # The cluster's tests create network interfaces, which fails requests of browsers (ERR_NETWORK_CHANGED).
                    for some in ([part for part in python if part != "cluster"], [part for part in python if part == "cluster"]):
                        if some:
                            plan.python_parts(some, only)
                else:
                    getattr(plan, name)()
            except Failed:
                if name == "library":
                    return

    lane([part for part in first if part == "lint"])
    after = ["library", *lanes[0]] if "library" in parts else lanes[0]
    if not lanes[1]:
        return lane(after)
    # The package is built with both processors; its tests leave room for the other builds.
    if "library" in parts:
        try:
            plan.run.phase("Build the package and its tests", plan.run.build)
        except Failed:
            return None
        plan.built = plan.run.bin_path()
        plan.library = lambda: plan.run.phase("Library", plan.run.library)
    return plan.run.together([lambda: lane(after), lambda: lane(lanes[1])])


def report(run, begin):
    """The tables at the end, and what failed: the last line counts."""
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
    flaky = [result for result in run.results if result.outcome == "flaky"]
    if flaky:
        print("\nFLAKY: failed, and passed on a second run. Find out why: it may be the program.")
        for result in flaky:
            print(f"? {result.name}\n{result.message}\n    again: {result.rerun}")
    skipped = [result for result in run.results if result.outcome == "skipped"]
    if skipped:
        print("\nSKIPPED")
        for result in skipped:
            print(f"  {result.name}: {result.message.splitlines()[0] if result.message else 'without a reason'}")
    # A phase that broke is a failure, also where no test failed.
    print(f"\n{counts['passed'] + len(flaky)} passed, {len(failed) + len(run.broken)} failed, {counts['skipped']} skipped", flush=True)
    return 1 if failed or run.broken else 0


def main():
    parser = argparse.ArgumentParser(
        prog="Tools/test", description="Runs the tests: without a part, the quick form of those of the library.",
        epilog="Parts: " + "; ".join(f"{name}: {text}" for name, text in PARTS.items()) + ".")
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []], help=", ".join(PARTS))
    parser.add_argument("--full", action="store_true", help=f"all parts but {', '.join(NIGHTLY)}, in full length")
    parser.add_argument("--length", choices=LENGTHS, help="how long random tests go on; quick without --full")
    parser.add_argument("--list", action="store_true", help="lists the parts and their tests")
    parser.add_argument("--only", metavar="FILE[.CLASS.TEST]", help="of the server's tests, only this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="tests at a time")
    parser.add_argument("--needs", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    whole = [part for part in PARTS if part not in NIGHTLY or options.length == "nightly"]
    parts = whole if options.full else options.parts or DEFAULT
    if options.needs:
        print("\n".join(parts))
        return 0
    if options.list:
        for name, text in PARTS.items():
            print(f"{name:<12} {text}{' (default)' if name in DEFAULT else ' (nightly)' if name in NIGHTLY else ''}")
            for file in python_files(name) if name in ("server", "console", "bell", "cluster") else []:
                print(f"             Tools/Server/Tests/{file}")
        return 0
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traylog-test.") as work:
        run = Run(len(parts) > 1, options.length or ("full" if options.full else "quick"), max(1, options.jobs), work)
        # A shell that runs this in the background lets its programs ignore interrupts, which tests send to theirs.
        signal.signal(signal.SIGINT, run.interrupted)
        signal.signal(signal.SIGTERM, run.interrupted)
        try:
            perform(Plan(run), parts, options.only)
        except Failed:
            pass
        if options.length in (None, "quick", "full"):
            run.remember_seconds()
        return report(run, begin)


if __name__ == "__main__":
    sys.exit(main())

"""Runs the tests of one file, or one of them, and writes what came of each as JSON: run.py FILE[:TEST] RESULTS"""

import json
import sys
import time
import unittest
from pathlib import Path


class Results(unittest.TextTestResult):
    """Notes for each test how long it took and how it ended."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.found, self.faults, self.begin = [], [], 0.0

    def startTest(self, test):
        super().startTest(test)
        self.faults, self.skipped_reason, self.begin = [], None, time.monotonic()

    def stopTest(self, test):
        outcome = "failed" if self.faults else "skipped" if self.skipped_reason is not None else "passed"
        message = "\n".join(self.faults) or self.skipped_reason or ""
        self.found.append([test.id(), time.monotonic() - self.begin, outcome, message[-4_000:]])
        super().stopTest(test)

    def note(self, test, error):
        # Of a class or a module that could not be set up there is no test that stops.
        text = self._exc_info_to_string(error, test)
        if isinstance(test, unittest.TestCase):
            self.faults.append(text)
        else:
            self.found.append([str(test), 0, "failed", text[-4_000:]])

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, error)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.faults.append(f"{subtest}\n{self._exc_info_to_string(error, test)}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            self.skipped_reason = reason
        else:
            self.found.append([str(test), 0, "skipped", reason])

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.faults.append("it succeeded, which was not expected")


def main():
    file, _, only = sys.argv[1].partition(":")
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder))
    loader = unittest.TestLoader()
    name = file.removesuffix(".py")
    tests = loader.loadTestsFromName(f"{name}.{only}" if only else name)
    results = unittest.TextTestRunner(verbosity=2, resultclass=Results).run(tests)
    found = results.found
    for error in loader.errors:
        found.append([name, 0, "failed", error[-4_000:]])
    if not found:
        found.append([name, 0, "failed", "the file has no tests"])
    Path(sys.argv[2]).write_text(json.dumps(found))
    return 0 if results.wasSuccessful() and not loader.errors else 1


if __name__ == "__main__":
    sys.exit(main())

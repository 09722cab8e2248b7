"""Checks the tables of promises in Docs/internals/reliability.md: each row names tests, and each test it names exists.

A name is a suite or a function of the Swift tests, a file or a function of the server's Python tests, a source file of the
tests, or a program in Tools. A function may end with `…` where its beginning is enough to find it.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "Docs/internals/reliability.md"


def sources(suffix):
    folders = [ROOT / "Tests", ROOT / "Tools/Server/Tests"]
    return [path for folder in folders for path in sorted(folder.rglob("*" + suffix)) if ".build" not in path.parts]


SWIFT = {path: path.read_text() for path in sources(".swift")}
PYTHON = {path: path.read_text() for path in sources(".py")}

# Functions with @Test, and the types in their files.
FUNCTIONS, SUITES = set(), set()
for text in SWIFT.values():
    tests = re.findall(r"@Test\b(?:\((?:[^()]|\([^()]*\))*\))?[^@{}]*?\bfunc (\w+|`[^`]+`)", text)
    FUNCTIONS.update(name.strip("`") for name in tests)
    if tests:
        SUITES.update(re.findall(r"(?m)^[^/\n]*\b(?:struct|class|enum|actor|extension) ([A-Z]\w*)", text))
PYTHON_FUNCTIONS = {name for text in PYTHON.values() for name in re.findall(r"\bdef (test_\w+)\(", text)}


def exists(name):
    if name.startswith("Tools/"):
        return os.access(ROOT / name, os.X_OK) or (ROOT / name).suffix == ".py" and (ROOT / name).is_file()
    if name.endswith(".swift"):
        return any(path.as_posix().endswith("/" + name) and "@Test" in text for path, text in SWIFT.items())
    if name.endswith(".py"):
        return any(path.name == name for path in PYTHON)
    if name[0].isupper():
        return name in SUITES
    names = PYTHON_FUNCTIONS if name.startswith("test_") else FUNCTIONS
    if name.endswith("…"):
        return any(function.startswith(name[:-1]) for function in names)
    return name in names


problems, promises, named = [], set(), 0
for number, line in enumerate(PAGE.read_text().splitlines(), 1):
    row = re.fullmatch(r"\|(.+?)\|(.*?)\|", line)
    if not row or row[1] in ("promise", "rule") or row[1].startswith(("**", "---")):
        continue
    where = f"{PAGE.relative_to(ROOT)}:{number}: "
    if row[1] in promises:
        problems.append(f"{where}{row[1]!r} is promised twice")
    promises.add(row[1])
    names = re.findall(r"`([^`]+)`", row[2])
    if not names:
        problems.append(f"{where}no test shows {row[1]!r}")
    problems += [f"{where}no test is called {name}" for name in names if not exists(name)]
    named += len(names)

if not promises:
    problems.append(f"{PAGE.relative_to(ROOT)} has no table of promises")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(promises)} promises name {named} tests, all of which exist")

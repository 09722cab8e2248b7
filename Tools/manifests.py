"""Checks both manifests: the package's, and the one of Tools/Server.

An embedder gets no warning flags and nothing of the server. The server's targets, its tests apart, stand in both manifests: they are
the same there, and use the same products. Without experimental parts no target needs libnats.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVER = ROOT / "Tools/Server"
VARIABLES = ("TRAYLOG_STRICT", "TRAYLOG_BUILD_SERVER", "TRAYLOG_SERVER_PARTS")


def dump(package, **environment):
    others = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    said = subprocess.run(
        ["swift", "package", "--package-path", package, "dump-package"], env={**others, **environment}, check=True,
        capture_output=True, text=True)
    return json.loads(said.stdout)


def targets(package):
    """The targets of a package's description, each with what it depends on, its resources and its conditions."""
    found = {}
    for target in package["targets"]:
        names = sorted(next(iter(one.values()))[0] for one in target["dependencies"])
        resources = sorted(resource["path"] for resource in target["resources"])
        found[target["name"]] = {"type": target["type"], "uses": names, "resources": resources}
    return found


problems = []
alone, whole, server = dump(ROOT), dump(ROOT, TRAYLOG_BUILD_SERVER="1"), dump(SERVER)
for name, manifest, strict in (
        ("Package.swift", alone, dump(ROOT, TRAYLOG_STRICT="1")), ("Tools/Server/Package.swift", server, dump(SERVER, TRAYLOG_STRICT="1"))):
    if "treatAllWarnings" in json.dumps(manifest):
        problems.append(f"{name} makes warnings errors for embedders")
    if "treatAllWarnings" not in json.dumps(strict):
        problems.append(f"{name} ignores TRAYLOG_STRICT")
added = {name: target for name, target in targets(whole).items() if name not in targets(alone)}
# Tests run in the one graph alone; and what answers are measured beside is nobody's part.
added = {name: target for name, target in added.items() if target["type"] != "test"}
nested = {name: target for name, target in targets(server).items() if name != "constant-server"}
for name in sorted(added.keys() | nested.keys()):
    if added.get(name) != nested.get(name):
        problems.append(f"{name} is {added.get(name)} in Package.swift, and {nested.get(name)} in Tools/Server/Package.swift")
if not any("Server" in name for name in added):
    problems.append("Package.swift ignores TRAYLOG_BUILD_SERVER")
if "CNats" in targets(dump(SERVER, TRAYLOG_SERVER_PARTS="")):
    problems.append("TRAYLOG_SERVER_PARTS= leaves CNats in Tools/Server/Package.swift")
if any("nats" in json.dumps(target).lower() for target in alone["targets"]):
    problems.append("an embedder gets libnats")
if problems:
    sys.exit("\n".join(problems))
print(f"{len(alone['targets'])} targets for embedders, {len(added)} of the server")

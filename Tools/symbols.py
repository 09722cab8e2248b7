"""Symbol graphs of a finished debug build, and what of them is public but not documented."""

import json
import os
import pathlib
import platform
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# These fulfil a protocol's requirement and inherit its documentation, even where the compiler does not say so.
KNOWN = {"description", "encode(to:)", "write(to:)", "hash(into:)", "init(from:)", "rawValue", "makeAsyncIterator()", "id", "Element",
         "Failure"}


def extract(modules, folder, spi=False):
    """Writes the public symbols of modules into a folder, without SPI unless it is asked for."""
    shown = subprocess.run(
        ["swift", "build", "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    built = pathlib.Path(shown.stdout.strip().splitlines()[-1])
    options = ["-target", f"{platform.machine()}-unknown-linux-gnu", "-I", os.environ.get("MODULES", built / "Modules")]
    for module in sorted(ROOT.glob("Sources/C*")):
        options += ["-I", module / "include" if (module / "include").exists() else module]
    options += ["-Xcc", f"-fmodule-map-file={built}/CTraylogCRC.build/module.modulemap",
                "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", folder]
    if spi:
        options.append("-include-spi-symbols")
    for module in modules:
        subprocess.run(["swift-symbolgraph-extract", "-module-name", module, *map(str, options)], cwd=ROOT, check=True)


def graphs(folder):
    """The graphs in a folder, in the order of their files."""
    return [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.symbols.json"))]


def inherited(found):
    """The identifiers of those that fulfil or are requirements: other modules' protocols say the rest themselves."""
    relationships = [relationship for graph in found for relationship in graph["relationships"]]
    return {r["source"] for r in relationships if "sourceOrigin" in r} | {
        r["source"] for r in relationships if r["kind"] in ("defaultImplementationOf", "overrides", "requirementOf")}


def place(symbol):
    """The file and line of a declaration, and its name."""
    location = symbol["location"]
    name = ".".join(symbol["pathComponents"])
    return f'{location["uri"].split("/Sources/")[-1]}:{location["position"]["line"] + 1}: {name}'


def undocumented(symbols, inherits):
    """Those of some symbols that somebody wrote, and documented nowhere."""
    return sorted(
        place(symbol) for symbol in symbols
        if "docComment" not in symbol and symbol["identifier"]["precise"] not in inherits and "location" in symbol
        and symbol["pathComponents"][-1] not in KNOWN and symbol["kind"]["identifier"] != "swift.func.op")

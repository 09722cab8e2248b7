"""Makes one module's symbol graph of those of the library's floors, and names public symbols without documentation.

A program imports `Traylog` and has the words of the floors below with it, so one reference has them all.
"""

import json
import pathlib
import sys

import symbols

MODULES = [
    "Traylog", "TraylogDomain", "TraylogJSON", "TraylogReplica", "TraylogQueries", "TraylogStates", "TraylogWriter",
    "TraylogRewrite", "TraylogChecks", "TraylogEvidence", "TraylogAudit", "TraylogFoundation", "TraylogCluster", "TraylogClient", "TraylogClientHTTP"]

folder = pathlib.Path(sys.argv[1])
symbols.extract(MODULES, folder)
graphs = symbols.graphs(folder)
found = {}
for graph in graphs:
    for symbol in graph["symbols"]:
        found.setdefault(symbol["identifier"]["precise"], symbol)
inherits = symbols.inherited(graphs)
if bare := symbols.undocumented(found.values(), inherits):
    sys.exit("public symbols without documentation:\n" + "\n".join(bare))

functions = [
    symbol for symbol in found.values()
    if symbol["kind"]["identifier"] in ("swift.method", "swift.type.method", "swift.func") and "docComment" in symbol
    and symbol["identifier"]["precise"] not in inherits and symbol["pathComponents"][-1] not in symbols.KNOWN]
samples = sum(any("```swift" in line["text"] for line in symbol["docComment"]["lines"]) for symbol in functions)
if 3 * samples < len(functions):
    sys.exit(f"{samples} of {len(functions)} public functions have a sample: a third shall have one")
print(f"{samples} of {len(functions)} public functions have a sample")

one = dict(graphs[0])
one["module"] = {"name": "Traylog", "platform": graphs[0]["module"]["platform"]}
one["symbols"] = list(found.values())
one["relationships"] = [relationship for graph in graphs for relationship in graph["relationships"]]
(folder / "one").mkdir()
(folder / "one" / "Traylog.symbols.json").write_text(json.dumps(one))
print(f"{len(found)} public symbols, all of them documented")

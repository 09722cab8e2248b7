"""Makes one module's symbol graph of those of the library's floors, and names public symbols without documentation.

A program imports `Traylog` and has the words of the floors below with it, so one reference has them all.
"""

import json
import os
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
symbols, relationships, first = {}, [], None
for path in sorted(folder.glob("*.symbols.json")):
    graph = json.loads(path.read_text())
    first = first or graph
    for symbol in graph["symbols"]:
        symbols.setdefault(symbol["identifier"]["precise"], symbol)
    relationships += graph["relationships"]

# A requirement's documentation is that of what fulfils it; other modules' protocols say the rest themselves.
inherits = {r["source"] for r in relationships if "sourceOrigin" in r}
inherits |= {r["source"] for r in relationships if r["kind"] in ("defaultImplementationOf", "overrides", "requirementOf")}
known = {"description", "encode(to:)", "write(to:)", "hash(into:)", "init(from:)", "rawValue", "makeAsyncIterator()", "id"}
bare = []
for symbol in symbols.values():
    path = symbol["pathComponents"]
    if "docComment" in symbol or symbol["identifier"]["precise"] in inherits or "location" not in symbol:
        continue
    if path[-1] in known or path[-1] in ("Element", "Failure") or symbol["kind"]["identifier"] == "swift.func.op":
        continue
    place = symbol["location"]
    bare.append(f'{place["uri"].split("/Sources/")[-1]}:{place["position"]["line"] + 1}: {".".join(path)}')
if bare:
    sys.exit("public symbols without documentation:\n" + "\n".join(sorted(bare)))

functions = [
    symbol for symbol in symbols.values()
    if symbol["kind"]["identifier"] in ("swift.method", "swift.type.method", "swift.func") and "docComment" in symbol
    and symbol["identifier"]["precise"] not in inherits and symbol["pathComponents"][-1] not in known]
samples = sum(any("```swift" in line["text"] for line in symbol["docComment"]["lines"]) for symbol in functions)
if 3 * samples < len(functions):
    sys.exit(f"{samples} of {len(functions)} public functions have a sample: a third shall have one")
print(f"{samples} of {len(functions)} public functions have a sample")

one = dict(first)
one["module"] = {"name": "Traylog", "platform": first["module"]["platform"]}
one["symbols"], one["relationships"] = list(symbols.values()), relationships
os.mkdir(folder / "one")
(folder / "one" / "Traylog.symbols.json").write_text(json.dumps(one))
print(f"{len(symbols)} public symbols, all of them documented")

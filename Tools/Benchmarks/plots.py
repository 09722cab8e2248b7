"""Draws the figures in DIR/*.jsonl as DIR/*.svg, and puts them into the table of DIR.md: python3 plots.py DIR

The standard library is all it needs. The files are those that Tools/Benchmarks/figures writes. The table stands between
`<!-- figures -->` and `<!-- end -->`.
"""

import json
import math
import os
import re
import sys

WIDTH, BAR, LEFT, RIGHT, TOP = 760, 22, 260, 90, 46
# Colours by role, which STYLE gives in light and in dark.
OURS, SHORT, OTHER, GRID, TEXT, SOFT = "ours", "short", "other", "grid", "text", "soft"
LINES = [f"line-{index}" for index in range(7)]
LIGHT = dict(zip(["ground", OURS, SHORT, OTHER, GRID, TEXT, SOFT, *LINES], [
    "#ffffff", "#2b6cb0", "#90b4d8", "#b6bdc6", "#e2e6ea", "#24292f", "#57606a", "#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#5f6b7a", "#975a16"]))
DARK = dict(zip(LIGHT, [
    "#0d1117", "#58a6ff", "#2f5c8f", "#57606a", "#30363d", "#e6edf3", "#9198a1", "#58a6ff", "#f0883e", "#56d364", "#bc8cff", "#f778ba", "#9198a1", "#d29922"]))
STYLE = "".join(
    f"{start}{''.join(f'.f-{name}{{fill:{value}}}.s-{name}{{stroke:{value}}}' for name, value in colours.items())}{end}"
    for start, colours, end in (("", LIGHT, ""), ("@media (prefers-color-scheme:dark){", DARK, "}")))

# How people say it.
CASES = {
    "bulk-100k": "append in bulk, 100,000 users", "bulk-1m": "append in bulk, 1,000,000 users", "bulk-keys": "append in bulk, with keys",
    "blocking-1": "durable append, one thread", "concurrent-1": "durable append, one task", "concurrent-8": "durable append, 8 callers",
    "concurrent-64": "durable append, 64 callers", "badge": "number on the bell", "page": "page of an inbox", "page-deep": "page far down",
    "mark-all": "mark all as read", "broadcast": "broadcast to all", "replay": "fold the log anew", "open-clean": "open ten million events",
    "open-killed": "open them after a kill", "bytes": "bytes for an event", "import": "import of JSON", "big": "20 million events",
}
OTHERS = {
    "lmdb-log": "raw LMDB, log only", "lmdb-naive": "trays on raw LMDB", "lmdb-get": "one LMDB read", "sqlite": "SQLite", "postgres": "PostgreSQL",
    "redis": "Redis", "umadb": "UmaDB", "jq": "jq", "limit": "what is asked for", "broadcast-10": "a broadcast to ten",
    "bulk-100k": "the same without",
}

# What is asked for: how many times better than the reference.
WANTED = {
    ("bulk-100k", "lmdb-log"): 0.5, ("bulk-100k", "lmdb-naive"): 8, ("bulk-100k", "sqlite"): 8,
    ("bulk-100k", "postgres"): 10, ("bulk-100k", "redis"): 6, ("bulk-100k", "umadb"): 10,
    ("bulk-1m", "lmdb-log"): 0.4, ("bulk-keys", "bulk-100k"): 0.5,
    ("blocking-1", "sqlite"): 1, ("blocking-1", "redis"): 1.1,
    ("concurrent-1", "sqlite"): 1, ("concurrent-1", "redis"): 1.1, ("concurrent-8", "sqlite"): 1.5, ("concurrent-8", "redis"): 1.5,
    ("concurrent-64", "lmdb-log"): 0.9, ("concurrent-64", "sqlite"): 3, ("concurrent-64", "postgres"): 3,
    ("concurrent-64", "redis"): 2.5, ("concurrent-64", "umadb"): 6,
    ("badge", "lmdb-get"): 0.5, ("page", "lmdb-naive"): 0.5, ("page-deep", "lmdb-naive"): 0.5,
    ("mark-all", "sqlite"): 100, ("mark-all", "limit"): 1, ("broadcast", "broadcast-10"): 0.8,
    ("replay", "sqlite"): 0.5, ("replay", "limit"): 1, ("open-clean", "limit"): 1, ("open-killed", "limit"): 1,
    ("bytes", "lmdb-log"): 0.77, ("import", "jq"): 1,
    ("big", "append-1m"): 0.66, ("big", "badge-1m"): 0.5, ("big", "page-1m"): 0.5, ("big", "page-deep-1m"): 0.5,
    ("big", "threads-1m"): 0.5, ("big", "as-of-1m"): 0.5,
}
# The same where each sync takes a millisecond longer.
WANTED_WITH_DELAY = {
    ("blocking-1", "sqlite"): 0.95, ("concurrent-1", "sqlite"): 0.95, ("concurrent-64", "sqlite"): 1.5, ("concurrent-64", "postgres"): 1.5,
    ("concurrent-64", "redis"): 1.5,
}


def rows(directory, name):
    path = os.path.join(directory, name + ".jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def short(value):
    for bound, unit in ((1e6, " M"), (1e3, " k")):
        if value >= bound:
            return f"{value / bound:.3g}{unit}"
    return f"{value:.3g}"


def text(x, y, words, anchor="start", size=12, fill=TEXT):
    words = str(words).replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" class="f-{fill}">{words}</text>'


def line(x1, y1, x2, y2, stroke, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="s-{stroke}" stroke-width="{width}"/>'


def write(directory, name, height, title, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif"><title>{title}</title><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{height}" rx="6" class="f-ground"/>'
    )
    body = "\n".join([head, text(12, 24, title, size=15), *parts, "</svg>"])
    with open(os.path.join(directory, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(body + "\n")


def ratios(directory):
    """How many times better than each reference, on a logarithmic scale, with the goal as a mark."""
    found = [row for file in ("main", "big") for row in rows(directory, file)]
    found = [row for row in found if (row["case"], row["reference"]) in WANTED and row["ratio"] > 0]
    if not found:
        return
    low = math.log10(min([0.1] + [row["ratio"] for row in found]))
    high = math.log10(max([10] + [row["ratio"] for row in found]))
    width = WIDTH - LEFT - 60 - RIGHT

    def place(ratio):
        return LEFT + 60 + width * (math.log10(ratio) - low) / (high - low)

    bottom = TOP + len(found) * (BAR + 2)
    parts = []
    for power in range(math.ceil(low), math.floor(high) + 1):
        parts.append(line(place(10**power), TOP - 6, place(10**power), bottom, GRID))
        parts.append(text(place(10**power), bottom + 16, f"{10.0 ** power:g} ×", "middle", fill=SOFT))
    for index, row in enumerate(found):
        y = TOP + index * (BAR + 2)
        wanted = WANTED[row["case"], row["reference"]]
        start, end = sorted((place(1), place(row["ratio"])))
        case, reference = row["case"], row["reference"]
        beside = OTHERS.get(reference, "one million" if case == "big" else reference)
        what = f"{reference.removesuffix('-1m')} of {CASES[case]}" if case == "big" else CASES.get(case, case)
        parts.append(text(LEFT + 52, y + 15, f"{what} – {beside}", "end"))
        fill = OURS if row["ratio"] >= wanted else SHORT
        parts.append(f'<rect x="{start:.1f}" y="{y + 3}" width="{max(end - start, 1):.1f}" height="{BAR - 8}" class="f-{fill}"/>')
        parts.append(line(place(wanted), y, place(wanted), y + BAR - 2, TEXT, 2))
        parts.append(text(WIDTH - 12, y + 15, f'{row["ratio"]:.3g} ×', "end"))
    parts.append(line(place(1), TOP - 6, place(1), bottom, SOFT))
    parts.append(text(
        LEFT + 60 + width / 2, bottom + 36, "times better, left of 1 × times worse; pale where the goal (the mark) is missed", "middle", fill=SOFT))
    write(directory, "ratios", bottom + 48, "Times better than the reference", parts)


def speed(directory):
    """What people ask first: durable events a second, beside the products that they know."""
    found = {(row["case"], row["reference"]): row for row in rows(directory, "main")}
    cases = [("concurrent-64", "64 callers at once, each event durable when its call returns"), ("bulk-100k", "in bulk, 100,000 users")]
    others = ("redis", "sqlite", "postgres")
    if not all((case, other) in found for case, _ in cases for other in others):
        return
    parts, y = [], TOP + 4
    for case, heading in cases:
        # Ours ran once beside each of them: the slowest counts.
        ours = min(found[case, other]["ours"] for other in others)
        bars = [("Traylog", ours)] + sorted(((OTHERS[other], found[case, other]["theirs"]) for other in others), key=lambda bar: -bar[1])
        parts.append(text(12, y + 12, heading, size=13, fill=SOFT))
        y += 22
        for index, (name, rate) in enumerate(bars):
            width = (WIDTH - 240) * rate / max(rate for _, rate in bars)
            parts.append(text(112, y + 15, name, "end"))
            parts.append(f'<rect x="120" y="{y + 2}" width="{width:.1f}" height="{BAR - 4}" rx="2" class="f-{OTHER if index else OURS}"/>')
            parts.append(text(128 + width, y + 15, f"{rate:,.0f}"))
            y += BAR + 2
        y += 14
    write(directory, "speed", y + 2, "Events a second", parts)


def curves(directory, name, title, series, x_name):
    """Lines over a logarithmic x; each relative to its own value at the smallest x."""
    series = {label: sorted(points) for label, points in series.items() if len(points) > 1}
    if not series:
        return
    xs = sorted({x for points in series.values() for x, _ in points})
    relative = {label: [(x, y / points[0][1]) for x, y in points] for label, points in series.items()}
    low = min(0.5, min(y for points in relative.values() for _, y in points))
    high = max(2, max(y for points in relative.values() for _, y in points))
    height, bottom, left, right = 360, 310, 60, WIDTH - 200

    def at(x, y):
        across = (math.log(x) - math.log(xs[0])) / (math.log(xs[-1]) - math.log(xs[0]))
        up = (math.log(y) - math.log(low)) / (math.log(high) - math.log(low))
        return left + (right - left) * across, bottom - (bottom - TOP) * up

    parts = []
    for x in xs:
        place = at(x, low)[0]
        parts += [line(place, TOP, place, bottom, GRID), text(place, bottom + 18, short(x), "middle")]
    step = 2.0 ** math.ceil(math.log2(low))
    while step <= high:
        place = at(xs[0], step)[1]
        parts += [line(left, place, right, place, GRID), text(left - 8, place + 4, f"{step:g} ×", "end")]
        step *= 2
    for index, (label, points) in enumerate(relative.items()):
        colour = LINES[index % len(LINES)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(x, y) for x, y in points))
        parts.append(f'<polyline points="{path}" fill="none" class="s-{colour}" stroke-width="2"/>')
        parts.append(text(right + 14, TOP + 14 + index * 20, label, fill=colour))
    parts.append(text((left + right) / 2, height - 12, x_name, "middle", fill=SOFT))
    write(directory, name, height, title, parts)


def growth(directory):
    by_events, by_users = {}, {}
    for row in rows(directory, "growth"):
        if row["case"] == "bulk-1m":
            points, x, y = by_users.setdefault("bulk, uniform", []), row["users"], 1 / max(row["ours"], 1)
        else:
            points, x, y = by_events.setdefault(row["case"], []), row["events"], row["ours"]
        points.append((x, y))
    curves(directory, "growth-events", "Cost relative to the smallest store", by_events, "events")
    curves(directory, "growth-users", "Cost of an append relative to the fewest users", by_users, "users")


# The files of the table, in order, with what is special about them.
PARTS = [
    ("main", None), ("slow", "each sync takes a millisecond longer"), ("big", "20,000,000 events beside 1,000,000"),
    ("bounded", "4,000,000 events beside 1,000,000, in 512 MiB of memory"),
]
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def amount(value, unit):
    """Three digits and a unit that needs no zeros: 16.5µs, 725k/s, 70.3MB."""
    if unit in NANOSECONDS:
        nanoseconds = value * NANOSECONDS[unit]
        unit = next(unit for unit, size in reversed(NANOSECONDS.items()) if nanoseconds >= size or size == 1)
        return f"{nanoseconds / NANOSECONDS[unit]:.3g}{unit.replace('us', 'µs')}"
    return short(value).replace(" ", "") + {"events/s": "/s", "bytes": "B"}.get(unit, unit)


def table(directory):
    """One line for each case and reference. Cases that end with -p50 and -p99 are columns of the case that they belong to."""
    lines = ["|case|beside|ours|theirs|times better|p50|p99|goal|measured|", "|---|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, heading in PARTS:
        found = rows(directory, name)
        if found and heading:
            lines.append(f"|**{heading}**|||||||||")
        ratio = {(row["case"], row["reference"]): f'{row["ratio"]:.3g}' for row in found}
        for row in found:
            case, reference, unit = row["case"], row["reference"], row["unit"]
            if case.endswith(("-p50", "-p99")):
                continue
            goals = WANTED_WITH_DELAY if row.get("syncDelay") else WANTED
            wanted = goals.get((case, reference))
            missed = wanted is not None and row["ratio"] < wanted
            spread = f' ±{row["oursSpread"] / 2:.0f}%' if row["runs"] > 1 else ""
            cells = [
                case, reference, amount(row["ours"], unit) + spread, amount(row["theirs"], unit),
                f"**{ratio[case, reference]}**" if missed else ratio[case, reference],
                ratio.get((case + "-p50", reference), ""), ratio.get((case + "-p99", reference), ""),
                "" if wanted is None else f"{wanted:g}", row["measured"],
            ]
            lines.append("|" + "|".join(cells) + "|")
    return "\n".join(lines)


def main():
    directory = sys.argv[1]
    speed(directory)
    ratios(directory)
    growth(directory)
    path = directory.rstrip("/") + ".md"
    with open(path, encoding="utf-8") as file:
        document = file.read()
    place = re.compile(r"<!-- figures -->\n.*?<!-- end -->", re.DOTALL)
    filled = f"<!-- figures -->\n\n{table(directory)}\n\n<!-- end -->"
    with open(path, "w", encoding="utf-8") as file:
        file.write(place.sub(lambda _: filled, document))


main()

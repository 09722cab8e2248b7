"""Draws the figures in DIR/*.jsonl as DIR/*.svg, and puts them into the table of DIR.md: python3 plots.py DIR

The standard library is all it needs. The files are those that Tools/Benchmarks/figures writes. The table stands between
`<!-- figures -->` and `<!-- end -->`.
"""

import json
import math
import os
import re
import sys

WIDTH, BAR, LEFT, RIGHT, TOP = 760, 22, 190, 110, 46
OURS, GRID, TEXT = "#2b6cb0", "#e2e6ea", "#24292f"
LINES = ["#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#718096", "#975a16"]

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
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">{words}</text>'


def line(x1, y1, x2, y2, stroke, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def write(directory, name, height, title, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif"><title>{title}</title><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    )
    body = "\n".join([head, text(12, 24, title, size=15), *parts, "</svg>"])
    with open(os.path.join(directory, name + ".svg"), "w", encoding="utf-8") as file:
        file.write(body + "\n")


def ratios(directory):
    """How many times better than each reference, on a logarithmic scale, with what is asked for as a mark."""
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
        parts.append(text(place(10**power), bottom + 16, f"{10.0 ** power:g}", "middle"))
    for index, row in enumerate(found):
        y = TOP + index * (BAR + 2)
        wanted = WANTED[row["case"], row["reference"]]
        start, end = sorted((place(1), place(row["ratio"])))
        parts.append(text(LEFT + 52, y + 15, f'{row["case"]} / {row["reference"]}', "end"))
        fill = OURS if row["ratio"] >= wanted else "#c53030"
        parts.append(f'<rect x="{start:.1f}" y="{y + 3}" width="{max(end - start, 1):.1f}" height="{BAR - 8}" fill="{fill}"/>')
        parts.append(line(place(wanted), y, place(wanted), y + BAR - 2, TEXT, 2))
        parts.append(text(WIDTH - 12, y + 15, f'{row["ratio"]:.3g}', "end"))
    write(directory, "ratios", bottom + 28, "Times better than the reference; the mark is what is asked for", parts)


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
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(right + 14, TOP + 14 + index * 20, label, fill=colour))
    parts.append(text((left + right) / 2, height - 12, x_name, "middle"))
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

#!/usr/bin/env python3
"""Writes man pages from what the program says of itself: manual.py PROGRAM DIRECTORY

One page for the program and one for each command, traylog(1) and traylog-COMMAND(1), from `--experimental-dump-help`.
"""

import json
import re
import subprocess
import sys
from pathlib import Path


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def form(argument):
    """How an argument is written on the command line."""
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        return value
    names = [("-" if name["kind"] == "short" else "--") + name["name"] for name in argument.get("names", [])]
    text = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names)
    return text if argument["kind"] == "flag" else f"{text} {value}"


def shown(command):
    return [a for a in command.get("arguments", []) if a.get("shouldDisplay", True) and a.get("valueName") != "help"]


def synopsis(command, name):
    parts = [f"\\fB{escaped(name)}\\fR"]
    for argument in shown(command):
        if argument["kind"] != "positional" and argument["isOptional"]:
            continue
        text = form(argument) + (" ..." if argument.get("isRepeating") else "")
        parts.append(f"[{text}]" if argument["isOptional"] else text)
    if any(a["kind"] != "positional" and a["isOptional"] for a in shown(command)):
        parts.insert(1, "[\\fIoptions\\fR]")
    if command.get("subcommands"):
        parts.append("\\fIcommand\\fR")
    return " ".join(parts)


def discussion(text):
    """Paragraphs; sections in capitals; indented lines as they stand."""
    lines, literal = [], False
    for line in text.split("\n"):
        is_literal = line.startswith("  ")
        if is_literal != literal:
            lines.append(".nf\n.RS" if is_literal else ".RE\n.fi")
            literal = is_literal
        if re.fullmatch(r"[A-Z][A-Z ]+", line):
            lines.append(f".SH {line}")
        elif not line:
            lines.append(".PP")
        else:
            lines.append(escaped(line.strip() if is_literal else line))
    if literal:
        lines.append(".RE\n.fi")
    return "\n".join(lines)


def options(command):
    lines, section = [], None
    for argument in shown(command):
        title = argument.get("sectionTitle")
        if title != section and title:
            lines.append(f".SS {escaped(title)}")
        section = title
        words = [argument.get("abstract", "")]
        if argument.get("allValues"):
            words.append("One of: " + ", ".join(argument["allValues"]) + ".")
        if argument.get("defaultValue"):
            words.append(f"Default: {argument['defaultValue']}.")
        lines.append(f".TP\n{form(argument)}\n{escaped(' '.join(word for word in words if word))}")
    return "\n".join(lines)


def page(command, name, others):
    title = name.replace(" ", "-")
    lines = [
        f'.TH "{title.upper()}" "1" "" "traylog" "Traylog"',
        f".SH NAME\n{escaped(title)} \\- {escaped(command.get('abstract', '').rstrip('.'))}",
        f".SH SYNOPSIS\n{synopsis(command, name)}",
    ]
    if command.get("discussion"):
        lines.append(".SH DESCRIPTION\n" + discussion(command["discussion"]))
    if shown(command):
        lines.append(".SH OPTIONS\n" + options(command))
    if others:
        lines.append(".SH COMMANDS")
        lines += [f".TP\n\\fB{escaped(other)}\\fR(1)\n{escaped(abstract)}" for other, abstract in others]
    else:
        lines.append(".SH SEE ALSO\n\\fBtraylog\\fR(1)")
    return "\n".join(lines) + "\n"


def main(program, directory):
    said = subprocess.run([program, "--experimental-dump-help"], check=True, capture_output=True, text=True).stdout
    root = json.loads(said)["command"]
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    commands = [command for command in root["subcommands"] if command["commandName"] != "help"]
    others = [(f"traylog-{command['commandName']}", command.get("abstract", "")) for command in commands]
    (target / "traylog.1").write_text(page(root, "traylog", others))
    for command in commands:
        text = page(command, f"traylog {command['commandName']}", [])
        (target / f"traylog-{command['commandName']}.1").write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: manual.py PROGRAM DIRECTORY")
    main(sys.argv[1], sys.argv[2])

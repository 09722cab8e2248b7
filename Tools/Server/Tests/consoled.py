"""A server with keys for each role of the console, and a caller that keeps its cookies as a browser does."""

import html
import os
import pathlib
import re
import subprocess
import tempfile
from unittest import mock
from urllib.parse import urlencode

from served import PROGRAM, Server

SCOPES = {
    "viewer": "users", "auditor": "users,audit", "operator": "users,audit,admin", "publisher": "publish",
    "all": "publish,users,audit,admin,metrics",
}

HOSTILE = {
    "script": "<script>document.title='broken'</script>",
    "markup": "<img src=x onerror=\"document.title='broken'\"><b>bold</b>",
    "quotes": "\"'><svg onload=alert(1)>",
    # One character of many languages' strings, and yet a quotation mark.
    "accent": "\"\u0301 autofocus onfocus=alert(1) x=\"\u0301",
    "bidi": "\u202egnp.exe\u202c \u2066isolated",
    "long": "n" * 256,
    "template": "{{#session}}{{{form}}}{{/session}}",
    "entities": "&lt;script&gt; &#60;b&#62;",
    "combining": "Z\u0351\u0343\u0344a\u0327\u0489l\u0334g\u0336o",
}


def console_server(*options, directory=None, environment=None):
    """A server without `--dev`; its `keys` hold one key for each role."""
    directory = directory or tempfile.mkdtemp(prefix="traylog-console.")
    keys, lines = {}, []
    for role, scopes in SCOPES.items():
        made = subprocess.run([PROGRAM, "key", "new", "--scope", scopes], capture_output=True, text=True, check=True)
        keys[role], line = made.stdout.splitlines()[:2]
        lines.append(line)
    path = os.path.join(directory, "keys")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    with mock.patch.dict(os.environ, {**(environment or {}), "TRAYLOG_KEYS": path}):
        server = Server(*options, directory=directory, dev=False)
    server.owns = True
    server.keys, server.key = keys, keys["all"]
    server.url = f"http://127.0.0.1:{server.port}"
    return server


class Visitor:
    """Asks for pages of the console, and sends forms, as a browser that runs no scripts."""

    def __init__(self, server, role=None):
        self.server, self.cookie = server, None
        if role is not None:
            answer = self.send("/sign-in", {"key": server.keys[role]})
            assert answer.status == 303, answer

    def headers(self, more):
        headers = {"Accept": "text/html", **({"Cookie": self.cookie} if self.cookie else {}), **(more or {})}
        return {name: value for name, value in headers.items() if value is not None}

    def get(self, path, **headers):
        return self.server.call("GET", f"/console{path}", headers=self.headers(headers), who=None)

    def send(self, path, fields, origin="own", **headers):
        """A form; its cookies are taken over."""
        origin = self.server.url if origin == "own" else origin
        headers = self.headers({
            "Content-Type": "application/x-www-form-urlencoded", "Origin": origin,
            **{name.replace("_", "-"): value for name, value in headers.items()}})
        answer = self.server.call("POST", f"/console{path}", urlencode(fields), headers, who=None)
        given = answer.headers.get("Set-Cookie")
        if given:
            self.cookie = given.split(";")[0]
        return answer

    def form(self, path="/tree"):
        """A token for a form, as a page has it."""
        return form_token(self.get(path))


def flip(directory, text):
    """Changes a bit of a text wherever the files of a directory have it, and says in how many places."""
    changed = 0
    for path in pathlib.Path(directory).rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        while (place := content.find(text)) >= 0:
            content = content[:place] + bytes([text[0] ^ 1]) + content[place + 1:]
            path.write_bytes(content)
            changed += 1
    return changed


def form_token(answer):
    return re.search(r'name="form" value="([^"]+)"', answer.body.decode()).group(1)


def text_of(answer):
    """The text of a page, roughly: without its tags."""
    return html.unescape(re.sub(r"<[^>]*>", "", answer.body.decode()))

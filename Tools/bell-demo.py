#!/usr/bin/env python3
"""An app's page on an origin of its own, with the bells of ann and bob side by side: each writes to the other.

Usage: bell-demo.py PORT SERVER KEY; the server allows the origin http://127.0.0.1:PORT. It runs until it is interrupted.
"""

import html
import http.server
import json
import sys
import urllib.parse
import urllib.request

USERS = ("ann", "bob")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Two bells</title>
<link rel="stylesheet" href="/style.css">
<script type="module" src="{server}/bell/v1/bell.js"></script>
<script type="module" src="/page.js"></script>
</head>
<body>
<h1>Two bells</h1>
<main>{people}</main>
</body>
</html>
"""

PERSON = """
<section>
<h2>{user}</h2>
<traylog-bell server="{server}" user="{user}" token-url="/token?user={user}" tabs="Messages:message"></traylog-bell>
<form data-from="{user}" data-to="{other}">
<label>Write to {other} <input name="title" required maxlength="200"></label>
<button>Send</button>
<output></output>
</form>
</section>"""

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { display: flex; flex-wrap: wrap; gap: 2rem }
section { flex: 1 1 20rem; padding: 1rem; border: 1px solid; border-radius: .75rem }
"""

SCRIPT = """
const url = document.querySelector("traylog-bell").getAttribute("server");
for (const form of document.forms) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { from, to } = form.dataset;
    const { token } = await (await fetch(`/token?user=${from}`)).json();
    const answer = await fetch(`${url}/v1/users/${to}/notifications`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ title: form.title.value, category: "message", thread: `from ${from}`, summaryArgument: from,
        data: { name: from[0].toUpperCase() + from.slice(1), icon: "comment" } }),
    });
    form.querySelector("output").textContent = answer.ok ? "Sent." : (await answer.json()).detail;
    if (answer.ok) form.reset();
  });
}
"""


def token(server, key, user):
    """What `POST /v1/tokens` answers: this is what an app's own session would ask for."""
    request = urllib.request.Request(
        f"{server}/v1/tokens", json.dumps({"user": user, "ttl": 600, "scope": "inbox:read inbox:write publish"}).encode(),
        {"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def main():
    port, server, key = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    people = "".join(
        PERSON.format(server=html.escape(server), user=user, other=other) for user, other in (USERS, USERS[::-1]))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            address = urllib.parse.urlsplit(self.path)
            user = urllib.parse.parse_qs(address.query).get("user", [""])[0]
            pages = {
                "/": ("text/html", lambda: PAGE.format(server=html.escape(server), people=people)),
                "/style.css": ("text/css", lambda: STYLE),
                "/page.js": ("text/javascript", lambda: SCRIPT),
            }
            if address.path == "/token" and user in USERS:
                kind, body = "application/json", token(server, key, user)
            elif address.path in pages:
                kind, make = pages[address.path]
                body = make()
            else:
                self.send_error(404)
                return
            data = body.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    try:
        http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()

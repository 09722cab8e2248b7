"""An app's own page with a bell, on another origin than the service, under a strict policy."""

import http.server
import json
import threading
import time
import urllib.parse

PAGE = """<!doctype html><html lang="{lang}" dir="{dir}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Shop</title>
<script type="module" src="{service}/bell/v1/bell.js"></script></head>
<body>{before}<main><h1>Shop</h1><traylog-bell server="{server}" {user} token-url="{tokens}" {attributes}></traylog-bell>{after}</main></body></html>"""

POLICY = "default-src 'none'; script-src {server}; connect-src {server} 'self'; require-trusted-types-for 'script'"


class App:
    """Serves the page, and tokens for it. `server` is set once the service runs, which must know this origin first.

    `session` answers in place of a token while it is set: a status, a media type, a body, and where it leads."""

    def __init__(self, user="ann"):
        self.user, self.server, self.url_of_server = user, None, None
        self.asked, self.refuses, self.seconds, self.pages = 0, False, 600, {}
        self.session, self.visited = None, []
        # What pages are that are none, and what a page's policy has beside the strict one.
        self.types, self.policy = {}, ""
        app = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                app.answer(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def page(self, path="/page", **fields):
        return f"{self.url}{path}?{urllib.parse.urlencode(fields)}"

    def answer(self, handler):
        address = urllib.parse.urlsplit(handler.path)
        fields = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        kind, status, location = "text/html; charset=utf-8", 200, None
        values = {
            "service": self.url_of_server, "server": self.url_of_server, "user": f'user="{self.user}"', "lang": "en", "dir": "ltr",
            "tokens": "/token", "attributes": "", "before": "", "after": "", **fields}
        if address.path == "/token" and self.session:
            self.asked += 1
            status, kind, body, location = self.session
        elif address.path == "/token":
            self.asked += 1
            kind = "application/json"
            token = "refused" if self.refuses else self.token(fields.get("user"))
            body = json.dumps({"token": token, "expires": "2030-01-01T00:00:00.000Z"})
        elif address.path == "/page":
            body = PAGE.format(**values)
        elif address.path in self.pages:
            kind, body = self.types.get(address.path, kind), self.pages[address.path]
        else:
            self.visited.append(address.path)
            body = "<!doctype html><title>Elsewhere</title>"
        data = body.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        if location:
            handler.send_header("Location", location)
        if address.path == "/page":
            handler.send_header("Content-Security-Policy", POLICY.format(server=self.url_of_server) + self.policy)
        handler.end_headers()
        handler.wfile.write(data)

    def token(self, user=None):
        return self.server.token(user or self.user, exp=int(time.time()) + self.seconds)

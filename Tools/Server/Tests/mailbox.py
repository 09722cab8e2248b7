"""A mail server that keeps what it gets. Loopback only."""

import email
import socketserver
import threading


class Mailbox(socketserver.ThreadingTCPServer):
    """Speaks as much SMTP as a client needs to hand a message over."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Session)
        self.messages = []
        self.arrival = threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.server_address[1]}"

    def wait(self, count):
        """The messages, once there are so many."""
        with self.arrival:
            self.arrival.wait_for(lambda: len(self.messages) >= count, timeout=60)
            return list(self.messages)

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Session(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def handle(self):
        self.say("220 mailbox")
        for line in self.rfile:
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"DATA":
                self.say("354 go on")
                body = b""
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    body += line[1:] if line.startswith(b".") else line
                with self.server.arrival:
                    self.server.messages.append(email.message_from_bytes(body))
                    self.server.arrival.notify_all()
            self.say("221 bye" if verb == b"QUIT" else "250 fine")
            if verb == b"QUIT":
                return

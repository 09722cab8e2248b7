"""Callers of a cluster: each knows what its users' trays must be, and notes every answer that cannot be."""

import http.client
import json
import threading
import time
from urllib.parse import quote

from machines import partition_of


class Lines:
    """One kept connection to each node, of one thread."""

    def __init__(self, nodes, key, timeout=5):
        self.nodes, self.timeout, self.open = nodes, timeout, {}
        self.headers = {"Authorization": f"Bearer {key}"}

    def call(self, node, method, path, body=None, headers=None, raw=False):
        """(status, headers, JSON, or bytes where they are asked for); None when nobody answered, so that nothing is known."""
        connection = self.open.get(node.number)
        if connection is None:
            connection = self.open[node.number] = http.client.HTTPConnection(node.host, node.port, timeout=self.timeout)
        headers = {**self.headers, **(headers or {})}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), headers)
            answer = connection.getresponse()
            data = answer.read()
            if raw:
                return answer.status, answer.headers, data
            is_lines = answer.headers.get_content_type() == "application/x-ndjson"
            return answer.status, answer.headers, (
                [json.loads(line) for line in data.splitlines()] if is_lines else json.loads(data) if data else None)
        except (OSError, http.client.HTTPException, ValueError):
            connection.close()
            return None

    def write(self, node, path, body=None, seconds=90, method="POST", headers=None):
        """(the answer, how often it was sent): sends it until it is performed or refused, as 503 asks for. With a key, or it may be
        performed twice."""
        end = time.monotonic() + seconds
        attempts = 0
        while True:
            attempts += 1
            answer = self.call(node, method, path, body, headers)
            if answer is not None and answer[0] != 503:
                return answer, attempts
            if time.monotonic() > end:
                raise RuntimeError(f"{node.name} did not perform {path} {body}: {answer}")
            time.sleep(0.2)

    def notify(self, node, user, title):
        """Appends a notification whose key is its title; its seq."""
        answer, _ = self.write(node, f"/v1/users/{quote(user)}/notifications", {"title": title, "key": title})
        if answer[0] not in (200, 201):
            raise RuntimeError(f"{node.name}: {answer}")
        return answer[2]["seq"]

    def close(self):
        for connection in self.open.values():
            connection.close()


class Findings:
    """What went wrong, and what was counted, of all threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.lost, self.doubled, self.refused, self.sessions = [], [], [], []
        self.acknowledged = {}
        self.acks = []
        self.counts = {}

    def note(self, kind, text):
        with self.lock:
            getattr(self, kind).append(text)

    def count(self, name, more=1):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + more

    def acknowledge(self, user, key, seq):
        with self.lock:
            self.acks.append(time.monotonic())
            if seq is not None:
                earlier = self.acknowledged.setdefault((user, key), seq)
                if earlier != seq:
                    self.doubled.append(f"{key} of {user} was acknowledged as event {earlier}, and as {seq}")

    def longest_stall(self):
        with self.lock:
            acks = sorted(self.acks)
        return max((after - before for before, after in zip(acks, acks[1:])), default=0.0)


class Item:
    def __init__(self, seq):
        self.seq, self.read, self.seen, self.snoozed, self.gone = seq, False, False, False, False


class Writer(threading.Thread):
    """Sends commands with keys, one after the other, each until it is answered, to whichever node."""

    def __init__(self, number, random, nodes, key, findings, stop, partitions=1):
        super().__init__(name=f"writer {number}", daemon=True)
        self.partitions = partitions
        self.number, self.random, self.nodes = number, random, nodes
        self.lines, self.findings, self.stop = Lines(nodes, key), findings, stop
        self.users = [f"w{number}-{index}" for index in range(3)]
        self.items = {user: [] for user in self.users}
        self.keys = []
        self.sent = 0
        # Of each partition: seqs are its own.
        self.last_seq = {}
        self.stalls = 0.0

    def run(self):
        try:
            while not self.stop.is_set():
                self.turn()
        finally:
            self.lines.close()

    def turn(self):
        user = self.random.choice(self.users)
        self.sent += 1
        key = f"k{self.number}-{self.sent}"
        items = self.items[user]
        choice = self.random.random()
        if choice < 0.55 or not items:
            self.perform({"kind": "notify", "user": user, "key": key, "title": f"{self.number} {self.sent}"}, "appended",
                         lambda seq: items.append(Item(seq)))
        elif choice < 0.70:
            self.mark(user, key, self.random.choice(items))
        elif choice < 0.78:
            self.snooze(user, key, self.random.choice(items))
        elif choice < 0.84:
            self.retract(user, key, self.random.choice(items))
        elif choice < 0.88 and self.keys:
            command, seq = self.random.choice(self.keys)
            self.perform(command, "duplicate", is_repeated=True, expected_seq=seq)
        elif choice < 0.91 and self.keys:
            command, _ = self.random.choice(self.keys)
            self.perform({**command, "title": "another command"}, "keyConflict", is_repeated=True)
        elif choice < 0.94:
            self.perform({"kind": "mark", "user": user, "key": key, "as": "read", "items": [10**12]}, "unknownItem")
        elif choice < 0.97:
            self.transaction(key)
        if self.random.random() < 0.3 and not self.stop.is_set():
            self.look(user)

    def mark(self, user, key, item):
        changes = not item.gone and not (item.read and item.seen)

        def read(_):
            if not item.gone:
                item.read = item.seen = True
        self.perform({"kind": "mark", "user": user, "key": key, "as": "read", "items": [item.seq]},
                     "appended" if changes else "unchanged", read)

    def snooze(self, user, key, item):
        if item.snoozed:
            command, expected = {"kind": "wake", "user": user, "key": key, "item": item.seq}, "appended"
        elif self.random.random() < 0.5:
            command, expected = {"kind": "wake", "user": user, "key": key, "item": item.seq}, "notSnoozed"
        else:
            command = {"kind": "snooze", "user": user, "key": key, "item": item.seq, "until": "2100-01-01T00:00:00Z"}
            expected = "appended"
        if item.gone:
            expected = "itemGone"

        def done(_):
            if item.snoozed:
                item.read = item.seen = False
            item.snoozed = not item.snoozed
        self.perform(command, expected, done if expected == "appended" else None)

    def retract(self, user, key, item):
        def gone(_):
            item.gone, item.snoozed = True, False
        self.perform({"kind": "retract", "user": user, "key": key, "item": item.seq},
                     "itemGone" if item.gone else "appended", None if item.gone else gone)

    def transaction(self, key):
        """Four at once, or none: nobody may see another number of them."""
        user = f"w{self.number}-four"
        commands = [{"kind": "notify", "user": user, "key": f"{key}.{part}", "title": "of four"} for part in range(4)]
        answer = self.ask("/v1/commands?atomic=true", user, commands, lambda status, _: status == 200)
        if answer is None:
            return
        for command, result in zip(commands, answer[2]["results"]):
            self.findings.acknowledge(user, command["key"], result.get("seq"))

    def perform(self, command, expected, done=None, is_repeated=False, expected_seq=None):
        """Sends a command until it is answered, and compares the answer with what the state asks for."""
        attempts = [0]

        def is_answer(status, body):
            attempts[0] += 1
            return status == 200
        answer = self.ask("/v1/commands", command["user"], [command], is_answer)
        if answer is None:
            return
        result = answer[2]["results"][0]
        got = result.get("error") or result["result"]
        # An attempt that nobody answered may have been the one that counted.
        is_right = got == expected or (got == "duplicate" and expected == "appended" and attempts[0] > 1)
        if not is_right:
            kind = "doubled" if expected == "duplicate" and got == "appended" else "refused"
            self.findings.note(kind, f"{json.dumps(command)}: {got} where {expected} was due, attempt {attempts[0]}")
        elif expected_seq is not None and result["seq"] != expected_seq:
            self.findings.note("doubled", f"{json.dumps(command)}: event {result['seq']}, and before it was {expected_seq}")
        seq = result.get("seq")
        self.findings.acknowledge(command["user"], command["key"], seq if expected == "appended" and is_right else None)
        self.findings.count("refused" if "error" in result else result["result"])
        if expected == "appended" and is_right:
            if done is not None:
                done(seq)
            if command["kind"] == "notify":
                self.keys = self.keys[-50:] + [(command, seq)]

    def ask(self, path, user, body, is_answer):
        """Sends it again and again, to one node after the other; None when the run ends without an answer."""
        began = time.monotonic()
        unsure = 0
        while True:
            node = self.random.choice(self.nodes)
            answer = self.lines.call(node, "POST", path, body)
            if answer is not None and is_answer(answer[0], answer[2]):
                self.stalls = max(self.stalls, time.monotonic() - began)
                partition = partition_of(user, self.partitions)
                seq = int(answer[1].get("Traylog-Seq", 0))
                self.last_seq[partition] = max(self.last_seq.get(partition, 0), seq)
                return answer
            if answer is None:
                self.findings.count("unanswered")
                is_answer(0, None) if unsure == 0 else None
                unsure += 1
            elif answer[0] == 503:
                self.findings.count("503")
                if answer[1].get("Retry-After") is None:
                    self.findings.note("refused", f"{node.name} answered 503 without Retry-After")
                is_answer(0, None) if unsure == 0 else None
                unsure += 1
            else:
                self.findings.note("refused", f"{node.name}: {path} answered {answer[0]} {answer[2]}")
            # Once the faults are over, everything is answered; after five minutes more nobody will.
            if self.stop.is_set() and time.monotonic() - self.stop.since > 300:
                self.findings.note("refused", f"{path} was never answered: {json.dumps(body)}")
                return None
            time.sleep(0.05)

    def look(self, user):
        """Reads the own writes, on any node."""
        node = self.random.choice(self.nodes)
        last_seq = self.last_seq.get(partition_of(user, self.partitions), 0)
        answer = self.lines.call(
            node, "GET", f"/v1/users/{quote(user)}/tray", headers={"Traylog-Min-Seq": str(last_seq)})
        if answer is None or answer[0] == 503:
            self.findings.count("reads without answer")
            return
        self.findings.count("reads of own writes")
        items = [item for item in self.items[user] if not item.gone and not item.snoozed]
        due = (len(items), sum(not item.read for item in items), sum(not item.seen for item in items))
        tray = answer[2]
        got = (tray.get("total"), tray.get("unread"), tray.get("unseen"))
        if answer[0] != 200 or got != due:
            self.findings.note(
                "sessions", f"{user} on {node.name}, as of {tray.get('asOf')} after {last_seq}: {got} instead of {due}")


class Reader(threading.Thread):
    """Reads without asking for anything new: answers of one node never go back, and never show a transaction's middle."""

    def __init__(self, number, random, nodes, key, findings, stop, writers, partitions=1):
        super().__init__(name=f"reader {number}", daemon=True)
        self.partitions = partitions
        self.random, self.nodes, self.findings, self.stop = random, nodes, findings, stop
        self.lines = Lines(nodes, key)
        self.users = [f"w{number}-four" for number in range(writers)]
        self.newest = {}

    def run(self):
        while not self.stop.is_set():
            node, user = self.random.choice(self.nodes), self.random.choice(self.users)
            stores = node.stores
            answer = self.lines.call(node, "GET", f"/v1/users/{user}/tray")
            time.sleep(0.02)
            if answer is None or answer[0] != 200 or stores != node.stores:
                self.findings.count("reads without answer")
                continue
            self.findings.count("reads")
            tray = answer[2]
            place = (node.number, stores, partition_of(user, self.partitions))
            before = self.newest.get(place, 0)
            if tray["asOf"] < before:
                self.findings.note("sessions", f"{node.name} answered as of {tray['asOf']} after {before}")
            self.newest[place] = max(before, tray["asOf"])
            if tray["total"] % 4:
                self.findings.note("sessions", f"{node.name}: {tray['total']} of {user}, who gets four at once")
        self.lines.close()

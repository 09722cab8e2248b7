"""Lets callers write to a cluster while its parts are killed, paused and cut off, and checks every promise."""

import os
import random
import shutil
import signal
import sys
import threading
import time
import urllib.request

from callers import Findings, Lines, Reader, Writer
from machines import Cluster, Namespaces, partition_of

WRITERS = 8


class Stop(threading.Event):
    since = None

    def set(self):
        self.since = time.monotonic()
        super().set()


class Nemesis:
    """Does one bad thing after the other, in an order that the seed says, each at least once before any is repeated."""

    def __init__(self, cluster, random):
        self.cluster, self.random, self.done = cluster, random, []
        self.kinds = ["owner killed", "broker killed", "all brokers killed", "owner paused", "store removed"]
        if cluster.network.can_cut:
            self.kinds.append("node cut off")

    def run(self, until):
        while True:
            for kind in self.random.sample(self.kinds, len(self.kinds)):
                time.sleep(self.random.uniform(1, 3))
                if time.monotonic() > until:
                    return
                print(f"{time.strftime('%H:%M:%S')} {kind}", file=sys.stderr, flush=True)
                getattr(self, kind.replace(" ", "_"))(self.random.uniform(1, 3))
                self.done.append(kind)

    def target(self):
        """The owner; any node while there is none."""
        chosen = self.random.choice(self.cluster.nodes)
        partition = self.random.randrange(self.cluster.partitions)
        return self.cluster.owner(partition) or chosen

    def owner_killed(self, pause):
        node = self.target()
        node.end()
        time.sleep(pause)
        node.start()

    def broker_killed(self, pause):
        broker = self.random.choice(self.cluster.brokers)
        broker.end()
        time.sleep(pause)
        broker.start()

    def all_brokers_killed(self, pause):
        for broker in self.cluster.brokers:
            broker.end()
        time.sleep(pause)
        for broker in self.cluster.brokers:
            broker.start()
        self.cluster.wait("the brokers are back", lambda: all(each.is_ready() for each in self.cluster.brokers))

    def owner_paused(self, _):
        """It wakes as an owner whose lease is another's."""
        node = self.target()
        node.send(signal.SIGSTOP)
        time.sleep(20)
        node.send(signal.SIGCONT)

    def store_removed(self, pause):
        # A node begins with a copy from a node that has a store, not from one that is itself just beginning.
        whole = [each for each in self.cluster.nodes if each.has_store()]
        if len(whole) < 2:
            return
        node, seed = self.random.sample(whole, 2)
        node.end()
        # Counted before anything is removed, because all later reads are of another store.
        node.stores += 1
        shutil.rmtree(node.store)
        time.sleep(pause)
        node.start("--seed", seed.url)

    def node_cut_off(self, pause):
        node = self.target()
        self.cluster.network.cut(node.number)
        time.sleep(5 + pause)
        self.cluster.network.heal(node.number)


class Check:
    """Compares the nodes with each other and with what was acknowledged."""

    def __init__(self, cluster, findings):
        self.cluster, self.findings = cluster, findings
        self.lines = Lines(cluster.nodes, cluster.key, timeout=60)
        self.differences, self.unsound = [], []

    def get(self, node, path):
        end = time.monotonic() + 90
        while time.monotonic() < end:
            answer = self.lines.call(node, "GET", path)
            if answer is not None and answer[0] == 200:
                return answer
            time.sleep(0.5)
        raise RuntimeError(f"{node.name} does not answer {path}: {answer}")

    def run(self, users):
        """All events of all logs."""
        self.cluster.wait_for_nodes()
        first, *others = self.cluster.nodes
        whole = []
        for partition, path in enumerate(self.cluster.paths("/v1/tree-head")):
            heads = lambda: {self.get(node, path)[2]["treeSize"] for node in self.cluster.nodes}
            self.cluster.wait("all nodes have the same events", lambda: len(heads()) == 1)
            self.compare(path, lambda node: self.get(node, path)[2])
            log = self.log(first, partition)
            for node in others:
                if self.log(node, partition) != log:
                    self.differences.append(f"{node.name} has another log than {first.name} in partition {partition}")
            self.acknowledged(log, partition)
            whole += log
        self.compare_answers(users)
        for node in self.cluster.nodes:
            self.verify(node)
        self.lines.close()
        return whole

    def compare(self, what, ask):
        answers = [ask(node) for node in self.cluster.nodes]
        for node, answer in zip(self.cluster.nodes, answers):
            if answer != answers[0]:
                self.differences.append(f"{what}: {node.name} answers otherwise than {self.cluster.nodes[0].name}")

    def compare_answers(self, users):
        for user in users:
            for path in ("tray", "inbox?limit=100", "inbox?limit=100&view=snoozed", "threads", "subscriptions"):
                self.compare(f"{path} of {user}", lambda node: self.get(node, f"/v1/users/{user}/{path}")[2])

    def log(self, node, partition):
        events, offset = [], "-1"
        while True:
            _, headers, page = self.get(node, self.cluster.paths(f"/v1/log?offset={offset}")[partition])
            events += page
            offset = headers["Stream-Next-Offset"]
            if headers.get("Stream-Up-To-Date") == "true":
                return events

    def acknowledged(self, log, partition):
        by_seq = {event["seq"]: event for event in log}
        if sorted(by_seq) != list(range(1, len(log) + 1)):
            self.findings.note("lost", "the log has a gap")
        for (user, key), seq in self.findings.acknowledged.items():
            if partition_of(user, self.cluster.partitions) != partition:
                continue
            event = by_seq.get(seq)
            if event is None or event.get("user") != user or event.get("key") != key:
                self.findings.note("lost", f"{key} of {user} was acknowledged as event {seq}, which is {event}")
        counts = {}
        for event in log:
            if "key" in event:
                name = (event.get("user"), event["key"])
                counts[name] = counts.get(name, 0) + 1
        for (user, key), count in counts.items():
            if count > 1:
                self.findings.note("doubled", f"{key} of {user} stands {count} times in the log")

    def verify(self, node):
        for path in self.cluster.paths("/v1/admin/verifications") + self.cluster.paths("/v1/admin/replays"):
            (_, _, body), _ = self.lines.write(node, path)
            job = self.get(node, f"/v1/admin/jobs/{body['id']}")[2]
            while job["state"] == "running":
                time.sleep(0.1)
                job = self.get(node, f"/v1/admin/jobs/{body['id']}")[2]
            outcome = job["outcome"]
            if job["state"] != "done" or not outcome.get("ok", outcome.get("identical")):
                self.unsound.append(f"{node.name}, {path}: {outcome}")


def run(server, broker, directory, seed, seconds, wants_namespaces=True, partitions=1):
    """Returns whether every promise held; prints a table."""
    why_not = Namespaces.why_not() if wants_namespaces else "it was not asked for"
    if why_not:
        print(f"not cut off: {why_not}")
    findings, stop = Findings(), Stop()
    with Cluster(server, broker, directory, namespaces=why_not is None, partitions=partitions) as cluster:
        cluster.start()
        make = lambda name: random.Random(f"{seed} {name}")
        writers = [
            Writer(number, make(f"writer {number}"), cluster.nodes, cluster.key, findings, stop, partitions)
            for number in range(WRITERS)]
        readers = [
            Reader(number, make(f"reader {number}"), cluster.nodes, cluster.key, findings, stop, WRITERS,
                   partitions)
            for number in range(2)]
        began = time.monotonic()
        for thread in writers + readers:
            thread.start()
        nemesis = Nemesis(cluster, make("nemesis"))
        try:
            nemesis.run(began + seconds)
            time.sleep(1)
        finally:
            stop.set()
        for thread in writers + readers:
            thread.join(timeout=400)
        took = time.monotonic() - began
        check = Check(cluster, findings)
        log = check.run([user for writer in writers for user in writer.users + [f"w{writer.number}-four"]])
    rows = [
        ("seed", seed), ("seconds", round(took)), ("events", len(log)),
        ("acknowledged", len(findings.acks)), ("events a second", round(len(log) / took)),
        *((f"faults: {kind}", nemesis.done.count(kind)) for kind in nemesis.kinds),
        *((name, count) for name, count in sorted(findings.counts.items())),
        ("longest stall of all, s", round(findings.longest_stall(), 1)),
        ("longest stall of one caller, s", round(max(writer.stalls for writer in writers), 1)),
        ("acknowledged and lost", len(findings.lost)), ("doubled", len(findings.doubled)),
        ("refusals not justified", len(findings.refused)), ("broken sessions", len(findings.sessions)),
        ("differences between nodes", len(check.differences)), ("unsound stores", len(check.unsound)),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value:>10}")
    wrong = findings.lost + findings.doubled + findings.refused + findings.sessions + check.differences + check.unsound
    for line in wrong[:50]:
        print(f"wrong: {line}")
    return not wrong

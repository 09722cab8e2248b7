"""How fast a cluster is, beside a single server and beside publishing the same bytes to the same brokers without Traylog."""

import base64
import http.client
import json
import os
import shutil
import threading
import time

from callers import Lines
from machines import Cluster, Network, Node, free_ports
from stream import Broker

CALLERS = 4
COMMANDS = 500


class Caller(threading.Thread):
    """Sends requests of many commands, one after the other, over one connection."""

    def __init__(self, number, node, key, requests):
        super().__init__(daemon=True)
        self.error = None
        self.connection = http.client.HTTPConnection(node.host, node.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        # Encoded before the watch runs: this process is to cost little beside those that are measured.
        self.bodies = [
            json.dumps([
                {"kind": "notify", "user": f"u{number}-{part % 100}", "key": f"{number}-{request}-{part}",
                 "title": "Your order is on its way", "body": "It left the warehouse and arrives on Thursday.",
                 "category": "orders", "thread": f"order-{part}",
                 "data": {"order": part, "carrier": "post", "url": f"https://shop.example/orders/{part}"}}
                for part in range(COMMANDS)]).encode()
            for request in range(requests)]

    def run(self):
        try:
            for body in self.bodies:
                self.connection.request("POST", "/v1/commands", body, self.headers)
                answer = self.connection.getresponse()
                text = answer.read()
                if answer.status != 200 or text.count(b'"appended"') != COMMANDS:
                    raise RuntimeError(f"{COMMANDS} commands were not all performed: {answer.status} {text[:300]}")
        except Exception as error:  # any error: the main thread raises it
            self.error = error
        finally:
            self.connection.close()


def bulk(node, key, events, calls):
    """Events a second, through requests of 500 commands by four callers."""
    callers = [Caller(f"{calls}{number}", node, key, max(1, events // CALLERS // COMMANDS)) for number in range(CALLERS)]
    began = time.monotonic()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    took = time.monotonic() - began
    for caller in callers:
        if caller.error:
            raise caller.error
    return sum(len(caller.bodies) for caller in callers) * COMMANDS / took, took


def singles(node, key, count, name):
    """Milliseconds of each of so many appends, one after the other."""
    lines = Lines([node], key, timeout=120)
    times = []
    for number in range(count):
        began = time.monotonic()
        answer = lines.call(node, "POST", "/v1/users/ann/notifications", {"title": "Hello", "key": f"{name}{number}"})
        if answer is None or answer[0] != 201:
            raise RuntimeError(f"{node.name} answered {answer}")
        times.append((time.monotonic() - began) * 1000)
    lines.close()
    return sorted(times)


def percentiles(times):
    return times[len(times) // 2], times[len(times) * 99 // 100]


def messages(broker, first, last):
    """The bodies that the stream has from one place to another."""
    bodies = []
    for number in range(first, last + 1):
        found = broker.ask("STREAM.MSG.GET.traylog", {"seq": number})
        bodies.append(base64.b64decode(found["message"].get("data", "")))
    return bodies


def end(broker, stream):
    return broker.ask(f"STREAM.INFO.{stream}", {})["state"]["last_seq"]


def publish(broker, bodies):
    """Seconds of publishing them, one after the other, each acknowledged before the next, at the place where it is expected."""
    made = broker.ask("STREAM.CREATE.figures", {"name": "figures", "subjects": ["figures"], "num_replicas": 3})
    if "error" in made:
        raise RuntimeError(made["error"])
    began = time.monotonic()
    for number, body in enumerate(bodies):
        _, answer = broker.request("figures", body, {
            "Nats-Msg-Id": f"m{number}", "Nats-Expected-Last-Sequence": str(number)})
        if json.loads(answer).get("seq") != number + 1:
            raise RuntimeError(answer)
    took = time.monotonic() - began
    broker.ask("STREAM.DELETE.figures", {})
    return took


def replayed(node, key):
    """Events a second of a replay of the node's whole log."""
    lines = Lines([node], key, timeout=120)
    (_, _, body), _ = lines.write(node, "/v1/admin/replays")
    while (job := lines.call(node, "GET", f"/v1/admin/jobs/{body['id']}")[2])["state"] == "running":
        time.sleep(0.1)
    lines.close()
    return job["outcome"]["eventsPerSecond"]


def caught_up(cluster, node, head):
    """Seconds in which a node without a store reads the stream, from its first answer on."""
    node.end()
    shutil.rmtree(node.store)
    node.start()
    cluster.wait("the node is there", lambda: node.readiness() is not None)
    began, first = time.monotonic(), node.readiness()["head"]
    cluster.wait("the node has read the stream", lambda: (node.readiness() or {}).get("head", 0) >= head, seconds=600)
    # Of few events it may have read all before it answered.
    return (time.monotonic() - began) * head / max(head - first, 1)


def measure(cluster, alone, events, appends):
    """Rows of a table. Each figure of the cluster stands beside its reference of the same minute."""
    owner, broker = cluster.owner(), Broker(cluster.brokers[0].url)
    follower = next(node for node in cluster.nodes if node is not owner)
    single, _ = bulk(alone, cluster.key, events, "a")
    first = end(broker, "traylog") + 1
    rate, took = bulk(owner, cluster.key, events, "b")
    bodies = messages(broker, first, end(broker, "traylog"))
    raw = publish(broker, bodies)
    yield "events", events
    yield "events a second, one server", round(single)
    yield "events a second, the cluster", round(rate)
    yield "messages", len(bodies)
    yield "bytes of a message", round(sum(map(len, bodies)) / len(bodies))
    yield "events a second, published without Traylog", round(events / raw)
    yield "the cluster : publishing", f"{raw / took:.2f}"
    for name, node in (("one server", alone), ("the owner", owner), ("a follower", follower)):
        middle, slow = percentiles(singles(node, cluster.key, appends, name[:5]))
        yield f"one append, {name}, p50 ms", f"{middle:.2f}"
        yield f"one append, {name}, p99 ms", f"{slow:.2f}"
    head = owner.readiness()["head"]
    replay = replayed(owner, cluster.key)
    read = head / caught_up(cluster, follower, head)
    yield "events a second, replay", round(replay)
    yield "events a second, an empty node that reads the stream", round(read)
    yield "that node : replay", f"{read / replay:.2f}"


def run(server, broker, directory, events, appends):
    with Cluster(server, broker, directory) as cluster:
        alone = Node(server, Network(), len(cluster.nodes), free_ports(1)[0], os.path.join(directory, "alone"),
                     ["--keys", cluster.keys])
        alone.launch([server, "--store", alone.store, "--listen", f"127.0.0.1:{alone.port}", "--keys", cluster.keys])
        try:
            cluster.start()
            cluster.wait("the single server is ready", lambda: (alone.readiness() or {}).get("status") == "ok")
            rows = list(measure(cluster, alone, events, appends))
        finally:
            alone.end()
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value:>10}")

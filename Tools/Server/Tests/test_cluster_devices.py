"""Device tokens and push providers of a cluster: any node takes both, in one partition and in several. And who signs checkpoints."""

import json
import shutil
import socket
import ssl
import threading
import unittest
import urllib.request
import uuid

from clustered import ClusterCase, machines
from served import certificate

try:
    import httpx
except ImportError:
    httpx = None


class Front:
    """A proxy in front of a node that does TLS: nodes trust no certificate that a test makes."""

    def __init__(self, port, target):
        self.target = target
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def serve(self, near):
        try:
            far = self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.target), timeout=60))
        except OSError:
            return near.close()
        with near, far:
            back = threading.Thread(target=self.pass_on, args=(far, near), daemon=True)
            back.start()
            self.pass_on(near, far)
            back.join()

    @staticmethod
    def pass_on(source, target):
        try:
            while part := source.recv(65_536):
                target.sendall(part)
        except (OSError, ValueError):
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


class DeviceTests(ClusterCase):
    def tokens(self, lines, node, user):
        (status, _, body), _ = lines.write(node, f"/v1/users/{user}/devices", method="GET")
        self.assertEqual(status, 200, body)
        return [device["token"] for device in body["devices"]]

    def test_tokens_are_the_same_on_every_node_and_outlive_them(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            first, second, third = cluster.nodes

            def everywhere(**expected):
                for user, tokens in expected.items():
                    self.assertEqual([self.tokens(lines, node, user) for node in cluster.nodes], [tokens] * 3, user)

            for node, token in ((first, "t2"), (second, "t1"), (third, "t1")):
                self.assertEqual(lines.write(node, f"/v1/users/ann/devices/{token}", method="PUT")[0][0], 204)
            everywhere(ann=["t1", "t2"], bob=[])
            lines.write(second, "/v1/users/bob/devices/t1", method="PUT")
            everywhere(ann=["t2"], bob=["t1"])
            # Another user's stays.
            lines.write(third, "/v1/users/ann/devices/t1", method="DELETE")
            everywhere(ann=["t2"], bob=["t1"])
            lines.write(third, "/v1/users/bob/devices/t1", method="DELETE")
            lines.write(first, "/v1/users/bob/devices/t3", method="PUT")
            everywhere(ann=["t2"], bob=["t3"])
            owner = cluster.owner()
            owner.end()
            owner.start()
            cluster.wait_for_nodes()
            everywhere(ann=["t2"], bob=["t3"])
            lines.notify(first, "ann", "1")
            lines.write(first, "/v1/admin/erasures", {"user": "ann", "confirm": "ann"})
            cluster.wait("her devices are forgotten", lambda: self.tokens(lines, third, "ann") == [])
            everywhere(ann=[], bob=["t3"])
            for broker in cluster.brokers:
                broker.end()
            status, headers, _ = lines.call(first, "GET", "/v1/users/bob/devices")
            self.assertEqual((status, "Retry-After" in headers), (503, True))

    @unittest.skipUnless(httpx, "httpx is not installed")
    def test_any_node_takes_what_providers_send(self):
        with self.cluster() as cluster:
            self.push_to_each_node(cluster)

    @unittest.skipUnless(httpx, "httpx is not installed")
    def test_providers_reach_the_users_of_all_partitions(self):
        with self.cluster(partitions=2) as cluster:
            self.push_to_each_node(cluster)

    def push_to_each_node(self, cluster):
        path, key = certificate(self.directory)
        ports = machines.free_ports(6)
        cluster.start_brokers()
        for number, node in enumerate(cluster.nodes):
            front = Front(node.port, ports[number])
            self.addCleanup(front.close)
            node.start("--listen", f"127.0.0.1:{ports[number]}", "--apns-listen", f"127.0.0.1:{ports[3 + number]}",
                       "--tls-certificate", path, "--tls-key", key)
        cluster.wait_for_nodes()
        lines = self.lines(cluster)
        users = ["ann", "bob", "cleo", "dan"]
        self.assertEqual({machines.partition_of(user, cluster.partitions) for user in users}, set(range(cluster.partitions)))
        for user in users:
            lines.write(cluster.nodes[0], f"/v1/users/{user}/devices/of-{user}", method="PUT")
        sent = {user: [] for user in users}
        context = ssl.create_default_context(cafile=path)
        for number, node in enumerate(cluster.nodes):
            with httpx.Client(http2=True, verify=context, timeout=60) as client:
                def push(token, payload, identity):
                    url = f"https://localhost:{ports[3 + number]}/3/device/{token}"
                    while True:
                        answer = client.post(url, content=json.dumps(payload).encode(), headers={"apns-id": identity})
                        # A node that is just taking over says so.
                        if answer.status_code != 503:
                            return answer.status_code, answer.json()["reason"] if answer.content else ""
                for user in users:
                    identity = str(uuid.uuid4())
                    alert = {"aps": {"alert": {"title": f"{number} {user}"}, "thread-id": "t"}, "n": 1.50}
                    for _ in range(2):
                        self.assertEqual(push(f"of-{user}", alert, identity), (200, ""))
                    self.assertEqual(push(f"of-{user}", {"aps": {"alert": "other"}}, identity), (400, "BadMessageId"))
                    sent[user].append(identity)
                self.assertEqual(push("of-nobody", {"aps": {"alert": "x"}}, str(uuid.uuid4())), (400, "BadDeviceToken"))
        for user in users:
            expected = [(key, f"{n} {user}", {"n": 1.5}) for n, key in enumerate(sent[user])]
            # A push tells no seq to wait for, and a node that follows may be a moment behind.
            cluster.wait(f"{user} sees what was sent", lambda: self.shown(lines, cluster.nodes[0], user) == expected)
            self.assertEqual(self.shown(lines, cluster.nodes[0], user), expected)

    def shown(self, lines, node, user):
        (_, _, inbox), _ = lines.write(node, f"/v1/users/{user}/inbox", method="GET")
        return [(item["key"], item["title"], item["data"]) for item in reversed(inbox["items"])]

    def test_checkpoints_of_all_nodes_have_one_signer(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            seq = lines.notify(cluster.nodes[0], "ann", "1")
            before = self.checkpoints(cluster, seq)
            self.assertEqual(len(set(before)), 1, before)
            # A node that lost its store signs as before.
            node = next(node for node in cluster.nodes if node is not cluster.owner())
            node.end()
            shutil.rmtree(node.store)
            node.start("--seed", cluster.owner().url)
            cluster.wait_for_nodes()
            self.assertEqual(self.checkpoints(cluster, seq), before)

    def checkpoints(self, cluster, seq):
        texts = []
        for node in cluster.nodes:
            request = urllib.request.Request(
                node.url + "/v1/checkpoint",
                headers={"Authorization": f"Bearer {cluster.key}", "Traylog-Min-Seq": str(seq)})
            with urllib.request.urlopen(request, timeout=60) as answer:
                texts.append(answer.read())
        return texts

    def test_a_forged_node_credential_is_refused(self):
        with self.cluster() as cluster:
            cluster.start()
            lines = self.lines(cluster)
            for path in ("/v1/users/ann/notifications", "/v1/commands", "/v1/users/ann/seen"):
                forged = {"Authorization": "Traylog-Node 1:00", "Traylog-Forwarded": "1"}
                self.assertEqual(lines.call(cluster.nodes[0], "POST", path, {}, headers=forged)[0], 401)


if __name__ == "__main__":
    unittest.main()

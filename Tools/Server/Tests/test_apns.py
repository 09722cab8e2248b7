"""Push providers, as they talk to Apple's service: by hand with httpx, and with aapns unmodified."""

import asyncio
import json
import os
import ssl
import subprocess
import tempfile
import unittest
import uuid

from served import PROGRAM, Server, certificate

try:
    import httpx
except ImportError:
    httpx = None
try:
    import aapns.api
    import aapns.config
    import aapns.errors
    import aapns.models
except ImportError:
    aapns = None


class DeviceTests(unittest.TestCase):
    def test_a_token_is_one_user_s_until_it_is_removed(self):
        directory = tempfile.mkdtemp()
        path = "/v1/users/a%2Fb/devices"

        def tokens(server, path=path):
            return [device["token"] for device in server.get(path).json["devices"]]

        with Server(directory=directory) as server:
            self.assertEqual(tokens(server), [])
            for token in ("t2", "t1", "t1"):
                answer = server.call("PUT", f"{path}/{token}")
                self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertEqual(tokens(server), ["t1", "t2"])
            self.assertEqual(server.call("PUT", "/v1/users/other/devices/t1").status, 204)
            self.assertEqual(tokens(server), ["t2"])
            self.assertEqual(server.call("DELETE", f"{path}/t1").status, 204)
            self.assertEqual(tokens(server, "/v1/users/other/devices"), ["t1"])
            self.assertEqual(server.call("PUT", path, who=server.token("a/b")).status, 405)
            self.assertEqual(server.get(path, who=server.token("a/b")).status, 403)
            self.assertEqual(server.call("PUT", f"{path}/{'x' * 257}").status, 400)
            self.assertEqual(server.stop(9), -9)
        with Server(directory=directory) as server:
            self.assertEqual(tokens(server), ["t2"])
            server.notify("a/b", title="A")
            job = server.post("/v1/admin/erasures", {"user": "a/b", "confirm": "a/b"}).headers["Location"]
            while server.get(job).json["state"] == "running":
                pass
            self.assertEqual(server.get(job).json["state"], "done")
            self.assertEqual(tokens(server), [])
            with open(os.path.join(directory, "store", "devices.jsonl")) as file:
                self.assertNotIn("a/b", file.read())
            self.assertEqual(tokens(server, "/v1/users/other/devices"), ["t1"])


@unittest.skipUnless(httpx, "httpx is not installed")
class ProviderTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--apns-listen", "127.0.0.1:0", tls=True)
        cls.addClassCleanup(cls.server.__exit__)
        context = ssl.create_default_context(cafile=cls.server.certificate)
        cls.client = httpx.Client(http2=True, verify=context, base_url=f"https://localhost:{cls.server.providers}", timeout=60)
        cls.addClassCleanup(cls.client.close)
        cls.server.call("PUT", "/v1/users/ann/devices/aa11")

    def push(self, payload, token="aa11", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return self.client.post(f"/3/device/{token}", content=content, headers=headers)

    def newest(self, query=""):
        return self.server.get(f"/v1/users/ann/inbox?limit=1{query}").json["items"][0]

    def test_a_push_becomes_an_item(self):
        identity = str(uuid.uuid4()).upper()
        answer = self.push(
            {"aps": {"alert": {"title": "T", "subtitle": "S", "body": "B", "summary-arg": "Ann", "summary-arg-count": 2},
                     "thread-id": "7", "category": "chat", "interruption-level": "time-sensitive", "badge": 3}, "url": "x"},
            apns_id=identity, apns_collapse_id="c", apns_expiration="4102444800", apns_push_type="alert", apns_priority="10",
            apns_topic="org.example.app")
        self.assertEqual((answer.status_code, answer.http_version, answer.content), (200, "HTTP/2", b""))
        self.assertEqual(answer.headers["apns-id"], identity)
        item = self.newest()
        self.assertEqual(
            [item[name] for name in ("title", "body", "thread", "category", "level", "summaryArgument", "summaryCount",
                                     "collapseKey", "key", "expiresAt", "silent")],
            ["T", "B", "7", "chat", "timeSensitive", "Ann", 2, "c", identity.lower(), "2100-01-01T00:00:00.000Z", False])
        self.assertEqual(item["data"], {"url": "x", "aps": {"badge": 3, "alert": {"subtitle": "S"}}})
        total = self.server.get("/v1/users/ann/tray").json["total"]
        self.assertEqual(self.push({"aps": {"alert": "again"}}, apns_id=identity).json(), {"reason": "BadMessageId"})
        self.assertEqual(self.server.get("/v1/users/ann/tray").json["total"], total)

    def test_a_text_is_a_body_and_nothing_to_show_is_silent(self):
        answer = self.push({"aps": {"alert": "Hello"}})
        uuid.UUID(answer.headers["apns-id"])
        self.assertEqual((self.newest()["body"], self.newest()["key"]), ("Hello", answer.headers["apns-id"].lower()))
        self.push({"aps": {"content-available": 1}, "n": 1}, apns_push_type="background", apns_priority="5")
        self.assertTrue(self.newest("&includeSilent=true")["silent"])
        self.push({"aps": {"alert": "Hidden"}}, apns_push_type="background")
        self.assertTrue(self.newest("&includeSilent=true")["silent"])

    def test_the_reasons_are_apple_s(self):
        head = self.server.get("/v1/tree-head").json
        fine = {"aps": {"alert": "x"}}
        for status, reason, answer in (
            (400, "BadDeviceToken", self.push(fine, token="none")), (400, "MissingDeviceToken", self.push(fine, token="")),
            (400, "PayloadEmpty", self.push(b"")), (400, "PayloadEmpty", self.push(b"{")),
            (413, "PayloadTooLarge", self.push({"aps": {"alert": "x" * 4_096}})),
            (400, "BadCollapseId", self.push(fine, apns_collapse_id="x" * 65)),
            (400, "BadExpirationDate", self.push(fine, apns_expiration="tomorrow")),
            (400, "BadMessageId", self.push(fine, apns_id="x")), (400, "BadPriority", self.push(fine, apns_priority="7")),
            (400, "InvalidPushType", self.push(fine, apns_push_type="x")),
            (404, "BadPath", self.client.post("/4/device/aa11", json=fine)),
            (405, "MethodNotAllowed", self.client.get("/3/device/aa11")),
        ):
            self.assertEqual((answer.status_code, answer.json()["reason"]), (status, reason))
            self.assertIn("apns-id", answer.headers)
        self.assertEqual(self.server.get("/v1/tree-head").json, head)
        self.server.call("PUT", "/v1/users/ann/devices/bb22")
        self.server.call("DELETE", "/v1/users/ann/devices/bb22")
        gone = self.push(fine, token="bb22")
        self.assertEqual((gone.status_code, gone.json()["reason"]), (410, "Unregistered"))
        self.assertGreater(gone.json()["timestamp"], 1_600_000_000_000)

    @unittest.skipUnless(aapns, "aapns is not installed")
    def test_aapns_works_unmodified(self):
        server = self.server
        with tempfile.TemporaryDirectory() as directory:
            own, key = certificate(directory, "provider")
            both = os.path.join(directory, "both.pem")
            with open(both, "w") as file, open(own) as first, open(key) as second:
                file.write(first.read() + second.read())

            async def send():
                target = aapns.api.Server(both, "localhost", server.providers, ca_file=server.certificate)
                client = await target.create_client()
                notification = aapns.models.Notification(
                    alert=aapns.models.Alert(title="From aapns", body="B"), badge=1, thread_id="t")
                identity = str(uuid.uuid4())
                self.assertEqual(await client.send_notification("aa11", notification, apns_id=identity, time_sensitive=True), identity)
                with self.assertRaises(aapns.errors.BadDeviceToken):
                    await client.send_notification("nobody", notification)
                await client.close()
                return identity

            identity = asyncio.run(send())
        item = self.newest()
        self.assertEqual((item["title"], item["key"], item["level"]), ("From aapns", identity, "timeSensitive"))

    def test_beyond_loopback_providers_show_certificates(self):
        with tempfile.TemporaryDirectory() as directory:
            pem, key = certificate(directory)
            base = [PROGRAM, "--store", os.path.join(directory, "store"), "--dev", "--listen", "127.0.0.1:0"]
            secure = ["--tls-certificate", pem, "--tls-key", key]
            for options, words in ((["--apns-listen", "127.0.0.1:0"], "--tls-certificate"),
                                   ([*secure, "--apns-listen", "0.0.0.0:0"], "--apns-clients")):
                done = subprocess.run(base + options, capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 64, done)
                self.assertIn(words, done.stderr)
            authority = certificate(directory, "authority")
            with Server("--apns-listen", "127.0.0.1:0", "--apns-clients", authority[0], tls=True) as server:
                server.call("PUT", "/v1/users/ann/devices/aa11")
                known = certificate(directory, "known", authority)
                for pair, works in ((known, True), (certificate(directory, "stranger"), False), (None, False)):
                    context = ssl.create_default_context(cafile=server.certificate)
                    if pair:
                        context.load_cert_chain(*pair)
                    with httpx.Client(http2=True, verify=context, timeout=60) as client:
                        try:
                            answer = client.post(f"https://localhost:{server.providers}/3/device/aa11", json={"aps": {"alert": "x"}})
                            self.assertTrue(works)
                            self.assertEqual(answer.status_code, 200)
                        except (httpx.TransportError, ssl.SSLError):
                            self.assertFalse(works)


if __name__ == "__main__":
    unittest.main()

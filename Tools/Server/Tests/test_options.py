"""Starting the server: what it refuses, and how keys are made."""

import json
import os
import subprocess
import tempfile
import unittest
from unittest import mock

from served import PROGRAM, Server, base64url


def run(*arguments, **environment):
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ, **environment})


class OptionTests(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        self.store = os.path.join(self.directory, "store")

    def file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_missing_or_wrong_option_is_named(self):
        for arguments, words in (
            ((), "--store"), (("--store", self.store), "key new"),
            (("--store", self.store, "--dev", "--listen", "0.0.0.0:0"), "loopback"),
            (("--store", self.store, "--keys", "/nowhere", "--listen", "0.0.0.0:0"), "behind-proxy"),
            (("--store", self.store, "--dev", "--listen", "8080"), "HOST:PORT"),
            (("--store", self.store, "--dev", "--tls-key", "x"), "go together"),
            (("--store", self.store, "--dev", "--config", self.file("bad", '{"lisen":1}')), "lisen"),
        ):
            done = run(*arguments)
            self.assertEqual(done.returncode, 64, done)
            self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(self.store))

    def test_all_programs_have_the_same_version(self):
        programs = [PROGRAM, os.environ["TRAYLOG_TRAY"], os.environ["TRAYLOG"]]
        printed = {subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
                   for program in programs}
        self.assertEqual(len(printed), 1, printed)
        self.assertRegex(printed.pop(), r"^\d+\.\d+\.\d+\n$")

    def test_an_address_that_is_taken_is_named(self):
        with Server() as server:
            address = f"127.0.0.1:{server.port}"
            done = run("--store", self.store, "--dev", "--listen", address)
            self.assertEqual((done.returncode, address in done.stderr), (74, True), done)

    def test_a_made_key_opens_what_its_scopes_say(self):
        done = run("key", "new", "--scope", "publish,users")
        key, line = done.stdout.splitlines()
        self.assertTrue(key.startswith("tlk_"))
        self.assertNotIn(key.rsplit("_", 1)[1], line)
        self.assertEqual(json.loads(line)["scopes"], ["publish", "users"])
        keys = self.file("keys", f"\n{line}\n")
        secret = b"s" * 32
        jwk = self.file("jwk", json.dumps({"kty": "oct", "alg": "HS256", "kid": "one", "k": base64url(secret)}))
        with Server("--keys", keys, "--user-token-key", jwk, dev=False, directory=self.directory) as server:
            self.assertEqual(server.get("/v1/users", who=key).status, 200)
            self.assertEqual(server.get("/metrics", who=key).status, 403)
            server.secret = secret
            self.assertEqual(server.get("/v1/users/a/tray", who=server.token("a", header={"kid": "one"})).status, 200)
            self.assertEqual(server.get("/v1/users/a/tray", who=server.token("a")).status, 401)
            other = run("--store", self.store, "--dev", "--listen", "127.0.0.1:0")
            self.assertEqual(other.returncode, 69, other)
        wrong = run("key", "new", "--scope", "everything")
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("'everything' is no scope: there are publish, users, audit, admin and metrics", wrong.stderr)

    def test_flags_come_before_the_environment_and_that_before_a_file(self):
        config = self.file("config", json.dumps({"store": self.store, "listen": "nonsense", "dev": True}))
        self.assertEqual(run("--config", config, "--check-config").returncode, 64)
        self.assertEqual(run("--config", config, "--check-config", TRAYLOG_LISTEN="127.0.0.1:0").returncode, 0)
        done = run("--config", config, "--check-config", "--listen", "bad", TRAYLOG_LISTEN="127.0.0.1:0")
        self.assertEqual(done.returncode, 64)

    def test_a_misspelt_variable_ends_the_start_and_names_the_right_one(self):
        options = ("--store", self.store, "--dev", "--check-config")
        for wrong, right in (
            ("TRAYLOG_RECORD_ACESS", "TRAYLOG_RECORD_ACCESS"), ("TRAYLOG_LISTNE", "TRAYLOG_LISTEN"),
            ("TRAYLOG_RATE_USERS", "TRAYLOG_RATE_USER"), ("TRAYLOG_PARTITION", "TRAYLOG_PARTITIONS"),
        ):
            done = run(*options, **{wrong: "1"})
            self.assertEqual((done.returncode, f"{wrong} is no option. Did you mean {right}?" in done.stderr), (64, True), done)
        done = run("--store", self.store, "--dev", "--config", self.file("bad", '{"listn":"127.0.0.1:0"}'))
        self.assertEqual((done.returncode, "Did you mean listen?" in done.stderr), (64, True), done)

    def test_a_variable_that_sets_nothing_is_logged(self):
        with mock.patch.dict(os.environ, {"TRAYLOG_SPLENDOUR": "1"}), Server() as server:
            self.assertIn('"warning":"TRAYLOG_SPLENDOUR sets nothing', server.logged())
            self.assertNotIn("TRAYLOG_SERVER sets nothing", server.logged())

    def test_public_keys_check_tokens(self):
        try:
            from cryptography.hazmat.primitives.asymmetric import ec, ed25519
            from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
            from cryptography.hazmat.primitives import hashes, serialization
        except ImportError:
            self.skipTest("needs the package cryptography")
        elliptic, edwards = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
        numbers = elliptic.public_key().public_numbers()
        raw = edwards.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        keys = [
            {"kty": "EC", "alg": "ES256", "kid": "e", "crv": "P-256", "x": base64url(numbers.x.to_bytes(32, "big")),
             "y": base64url(numbers.y.to_bytes(32, "big"))},
            {"kty": "OKP", "alg": "EdDSA", "kid": "d", "crv": "Ed25519", "x": base64url(raw)},
        ]
        options = []
        for key in keys:
            options += ["--user-token-key", self.file(key["kid"], json.dumps(key))]

        def es256(message):
            r, s = decode_dss_signature(elliptic.sign(message, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32, "big") + s.to_bytes(32, "big")

        with Server(*options) as server:
            for kid, alg, sign in (("e", "ES256", es256), ("d", "EdDSA", edwards.sign)):
                message = server.token("a", header={"kid": kid, "alg": alg}).rsplit(".", 1)[0]
                token = f"{message}.{base64url(sign(message.encode()))}"
                self.assertEqual(server.get("/v1/users/a/tray", who=token).status, 200, alg)
                # The public key is no secret: it must not serve as one.
                public = base64url(raw).encode() if kid == "d" else json.dumps(keys[0]).encode()
                confused = server.token("a", secret=public, header={"kid": kid, "alg": "HS256"})
                self.assertEqual(server.get("/v1/users/a/tray", who=confused).status, 401)


if __name__ == "__main__":
    unittest.main()

"""schemathesis on the whole API, where it is installed: the same requests each time, for some seconds.

With TRAYLOG_TESTS=nightly, 10,000 others or more each time; TRAYLOG_SCHEMATHESIS_SEED repeats those of a run."""

import os
import random
import subprocess
import sys
import unittest

from served import Server

try:
    import schemathesis
except ImportError:
    schemathesis = None

LONG = os.environ.get("TRAYLOG_TESTS") == "nightly"
SEED = os.environ.get("TRAYLOG_SCHEMATHESIS_SEED", str(random.randrange(1 << 32)) if LONG else "1")


@unittest.skipUnless(schemathesis, "schemathesis is not installed")
class SchemaTests(unittest.TestCase):
    def test_no_request_gets_an_answer_that_is_not_described(self):
        with Server() as server:
            print(f"schemathesis: seed {SEED}", file=sys.stderr)
            program = os.path.join(os.path.dirname(sys.executable), "schemathesis")
            done = subprocess.run(
                [program, "run", f"http://127.0.0.1:{server.port}/openapi.json", "-H", f"Authorization: Bearer {server.key}",
                 "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
                 "response_schema_conformance,unsupported_method,ignored_auth", "--max-failures", "20",
                 # Streams go on, backups would fill the disk.
                 "--exclude-path-regex", "/live$|/backups$", "--request-timeout", "60", "--no-color",
                 "--seed", SEED,
                 *(["--generation-database", "none", "--max-examples", "400"] if LONG
                   else ["--generation-deterministic", "--max-time", "25"])],
                capture_output=True, text=True, cwd=server.directory)
            _, _, failures = done.stdout.partition("= FAILURES =")
            self.assertNotIn("Failures:", done.stdout, f"seed {SEED}: {failures[:6_000]}")
            self.assertIn("Test cases:", done.stdout, done.stdout + done.stderr)
            # Each request is a line of the log.
            sent = server.logged(server.get("/readyz", who=None)).count('"route":')
            print(f"schemathesis: {sent} requests", file=sys.stderr)
            if LONG:
                self.assertGreaterEqual(sent, 10_000)
            self.assertEqual(server.process.poll(), None)


if __name__ == "__main__":
    unittest.main()

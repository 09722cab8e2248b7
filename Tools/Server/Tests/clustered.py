"""What the tests of clusters share: brokers and servers on loopback. Skipped where nats-server cannot be had."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Cluster"))

import machines  # noqa: E402
from callers import Lines  # noqa: E402

SERVER = os.environ["TRAYLOG_SERVER"]
BROKER = os.path.join(os.path.dirname(sys.executable), "nats-server")
if not os.access(BROKER, os.X_OK):
    BROKER = shutil.which("nats-server")


@unittest.skipUnless(BROKER, "nats-server is not installed: it comes with Tools/Server/Tests/requirements.txt")
class ClusterCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="traylog-cluster.")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def cluster(self, **options):
        return machines.Cluster(SERVER, BROKER, self.directory, **options)

    def lines(self, cluster):
        """Connections to its nodes. They wait long: this machine may be slow."""
        lines = Lines(cluster.nodes, cluster.key, timeout=60)
        self.addCleanup(lines.close)
        return lines

    def refusal(self, **options):
        """The status and the words of a server that refuses to start."""
        with self.cluster(**options) as cluster:
            cluster.start_brokers()
            node = cluster.nodes[0]
            node.start()
            return node.process.wait(timeout=120), node.logged()

    def job(self, lines, node, path, seconds=120):
        """How a run stands that has ended."""
        end = time.monotonic() + seconds
        while True:
            (status, _, job), _ = lines.write(node, path, method="GET")
            self.assertEqual(status, 200, job)
            if job["state"] != "running":
                return job
            self.assertLess(time.monotonic(), end, job)
            time.sleep(0.1)

    def common_head(self, cluster, lines, path="/v1/tree-head"):
        """The tree head, once all nodes show the same: a node that follows may be behind, whichever is asked first."""
        shown = []

        def agree():
            shown[:] = [lines.write(node, path, method="GET")[0][2] for node in cluster.nodes]
            return all(head == shown[0] for head in shown)

        try:
            cluster.wait("all nodes show the same tree head", agree)
        except RuntimeError as error:
            raise RuntimeError(f"{error}\nThe tree heads, node by node: {shown}") from None
        self.assertIn("rootHash", shown[0])
        return shown[0]

    def backup(self, lines, node, query=""):
        destination = os.path.join(tempfile.mkdtemp(dir=self.directory), "backup")
        (status, headers, body), _ = lines.write(node, "/v1/admin/backups" + query, {"dest": destination})
        self.assertEqual(status, 202, body)
        self.assertEqual(self.job(lines, node, headers["Location"])["state"], "done")
        return destination

    @staticmethod
    def trim(cluster, backup):
        trim = [SERVER, "trim", "--cluster", cluster.brokers[0].url, "--stream", "traylog", "--backup", backup]
        return json.loads(subprocess.run(trim, check=True, capture_output=True).stdout)

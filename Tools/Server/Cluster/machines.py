"""Brokers and servers of a cluster on this machine. Standard library only; everything ends by its own pid.

On loopback each has ports of its own. In namespaces each pair of a broker and a server has a network of its own, which can be
cut off; that needs root and the program `ip`.
"""

import glob
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

SCOPES = "publish,users,audit,admin,metrics"


def partition_of(user, count):
    """The partition of a user, as the servers count (Docs/experimental/cluster.md)."""
    return int.from_bytes(hashlib.sha256(user.encode()).digest()[:8], "big") % count


def free_ports(count):
    """Ports for servers that this process starts: nobody has them, and nobody else gets them while it runs.

    Each is held by a socket that does not listen and shares its address, as every server does, so that a server can listen
    there, again and again. The system gives such a port to no outgoing connection, and this function gives it to no other caller.
    """
    ports = []
    while len(ports) < count:
        port = random.randrange(12_000, 32_000)
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", port))
        except OSError:
            holder.close()
            continue
        # Only now: before, it would have taken a port that another one holds.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.detach()
        ports.append(port)
    return ports


class Network:
    """Loopback: nothing can be cut off."""

    can_cut = False

    def address(self, _):
        return "127.0.0.1"

    def command(self, _):
        return []

    def close(self):
        pass


class Namespaces(Network):
    """A namespace for each number, all on one bridge, which this process reaches too."""

    can_cut = True

    def __init__(self, count):
        self.tag = f"tl{os.getpid() % 46656:x}"
        self.subnet = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.count = count
        try:
            self.ip("link", "add", f"{self.tag}b", "type", "bridge")
            self.ip("addr", "add", f"{self.subnet}.254/24", "dev", f"{self.tag}b")
            self.ip("link", "set", f"{self.tag}b", "up")
            for number in range(count):
                name = f"{self.tag}n{number}"
                self.ip("netns", "add", name)
                self.ip("link", "add", f"{name}o", "type", "veth", "peer", "name", "inside", "netns", name)
                self.ip("link", "set", f"{name}o", "master", f"{self.tag}b", "up")
                inside = ("-n", name)
                self.ip(*inside, "addr", "add", f"{self.address(number)}/24", "dev", "inside")
                self.ip(*inside, "link", "set", "inside", "up")
                self.ip(*inside, "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def why_not():
        """Why namespaces cannot be used here; nil where they can."""
        if os.geteuid() != 0:
            return "network namespaces need root"
        if shutil.which("ip") is None:
            return "the program ip is missing (iproute2)"
        try:
            Namespaces(1).close()
        except subprocess.CalledProcessError as error:
            return f"this machine makes no network namespaces: {error.stderr.strip()}"
        return None

    @staticmethod
    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)

    def address(self, number):
        return f"{self.subnet}.{number + 1}"

    def command(self, number):
        return ["ip", "netns", "exec", f"{self.tag}n{number}"]

    def cut(self, number):
        self.ip("link", "set", f"{self.tag}n{number}o", "down")

    def heal(self, number):
        self.ip("link", "set", f"{self.tag}n{number}o", "up")

    def close(self):
        for arguments in [("netns", "del", f"{self.tag}n{number}") for number in range(self.count)] + [
                ("link", "del", f"{self.tag}b")]:
            try:
                self.ip(*arguments)
            except subprocess.CalledProcessError:
                pass


class Process:
    """A program with a log that can be killed, paused and started again."""

    def __init__(self, name, directory):
        self.name, self.directory, self.process = name, directory, None
        os.makedirs(directory, exist_ok=True)

    def launch(self, arguments):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def send(self, sign):
        if self.is_running():
            self.process.send_signal(sign)

    def end(self, sign=signal.SIGKILL):
        """Ends it and waits; a paused one is woken first when it has to end by itself."""
        if not self.is_running():
            return
        if sign != signal.SIGKILL:
            self.send(signal.SIGCONT)
        self.send(sign)
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def logged(self, last=2000):
        with open(os.path.join(self.directory, "log"), errors="replace") as file:
            return file.read()[-last:]


class Broker(Process):
    def __init__(self, program, network, number, ports, directory, sync="always"):
        super().__init__(f"broker {number + 1}", directory)
        self.program, self.network, self.number, self.sync = program, network, number, sync
        self.host = network.address(number)
        self.port, self.monitor_port, self.route_port = ports
        self.url = f"nats://{self.host}:{self.port}"
        self.monitor = f"http://{self.host}:{self.monitor_port}"

    @property
    def route(self):
        return f"nats://{self.host}:{self.route_port}"

    def configure(self, brokers):
        routes = ", ".join(broker.route for broker in brokers)
        cluster = f"cluster {{ name: traylog, listen: \"{self.host}:{self.route_port}\", routes: [{routes}] }}\n"
        sync = f", sync_interval: {self.sync}" if self.sync else ""
        with open(os.path.join(self.directory, "conf"), "w") as file:
            file.write(
                f"server_name: b{self.number + 1}\nlisten: \"{self.host}:{self.port}\"\n"
                f"http: \"{self.host}:{self.monitor_port}\"\n"
                f"jetstream {{ store_dir: \"{self.directory}/data\"{sync} }}\n" + (cluster if len(brokers) > 1 else ""))

    def start(self):
        self.launch([*self.network.command(self.number), self.program, "-c", os.path.join(self.directory, "conf")])

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.monitor + "/healthz", timeout=2) as answer:
                return json.load(answer)["status"] == "ok"
        except (OSError, ValueError):
            return False


class Node(Process):
    def __init__(self, program, network, number, port, directory, options, partitions=1):
        super().__init__(f"node {number + 1}", directory)
        self.program, self.network, self.number, self.options = program, network, number, options
        self.partitions = partitions
        self.host, self.port = network.address(number), port
        self.url = f"http://{self.host}:{port}"
        self.store = os.path.join(directory, "store")
        # How often the store was removed: the node's earlier answers are another store's.
        self.stores = 0

    def has_store(self):
        """Whether its store exists, or one store for each partition."""
        made = glob.glob(os.path.join(glob.escape(self.store), "**", "CURRENT"), recursive=True)
        return len(made) == self.partitions

    def start(self, *more):
        # Beyond loopback the server wants TLS or a proxy; here the bridge is this machine's own.
        proxy = [] if self.host == "127.0.0.1" else ["--behind-proxy"]
        self.launch([
            *self.network.command(self.number), self.program, "--store", self.store, "--listen", f"{self.host}:{self.port}",
            "--advertise", self.url, *self.options, *proxy, *more])

    def readiness(self, timeout=2):
        """What /readyz says; nil when nobody answers."""
        try:
            with urllib.request.urlopen(self.url + "/readyz", timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                try:
                    return json.load(error)
                except ValueError:
                    return None
        except (OSError, ValueError):
            return None

    def states(self):
        """What /readyz says of each partition; one without partitions, none when nobody answers."""
        state = self.readiness()
        if state is None:
            return []
        return state.get("partitions", [state])

    def role(self, partition=0):
        states = self.states()
        return states[partition].get("role") if partition < len(states) else None


class Cluster:
    """Brokers and servers; `with` ends them."""

    def __init__(self, server, broker, directory, brokers=3, nodes=3, namespaces=False, sync="always", options=(),
                 partitions=1):
        self.directory, self.partitions = directory, partitions
        self.network = Namespaces(max(brokers, nodes)) if namespaces else Network()
        try:
            ports = free_ports(3 * brokers + nodes)
            self.brokers = [
                Broker(broker, self.network, number, ports[3 * number:3 * number + 3],
                       os.path.join(directory, f"broker{number + 1}"), sync)
                for number in range(brokers)]
            for each in self.brokers:
                each.configure(self.brokers)
            made = subprocess.run([server, "key", "new", "--scope", SCOPES], check=True, capture_output=True, text=True)
            self.key, line = made.stdout.splitlines()
            self.keys = os.path.join(directory, "keys")
            with open(self.keys, "w") as file:
                file.write(line + "\n")
            divided = ["--partitions", str(partitions)] if partitions > 1 else []
            self.options = [
                *divided, "--cluster", ",".join(each.url for each in self.brokers), "--stream", "traylog", "--keys", self.keys,
                "--monitor", ",".join(each.monitor for each in self.brokers), *options]
            self.nodes = [
                Node(server, self.network, number, ports[3 * brokers + number],
                     os.path.join(directory, f"node{number + 1}"), self.options, partitions)
                for number in range(nodes)]
        except BaseException:
            self.network.close()
            raise

    def start_brokers(self):
        for broker in self.brokers:
            broker.start()
        self.wait("the brokers are ready", lambda: all(each.is_ready() for each in self.brokers))

    def start(self):
        self.start_brokers()
        for node in self.nodes:
            node.start()
        self.wait_for_nodes()

    def wait_for_nodes(self):
        """Until one node owns and the others follow, in every partition, and all know which one it is."""
        def is_settled():
            return all(self.is_settled(partition) for partition in range(self.partitions))
        self.wait("one node owns and the others follow it", is_settled)

    def is_settled(self, partition):
        all_states = [node.states() for node in self.nodes]
        states = [states[partition] if partition < len(states) else {} for states in all_states]
        roles = sorted(state.get("role", "") for state in states)
        owners = {state.get("owner") for state in states}
        return roles == ["follower"] * (len(states) - 1) + ["owner"] and len(owners) == 1 and None not in owners

    def wait(self, what, holds, seconds=180, without=()):
        """Waits until it holds. A process that ends meanwhile is a failure, except for those in `without`."""
        end = time.monotonic() + seconds
        while not holds():
            for each in self.brokers + self.nodes:
                if each not in without and each.process is not None and not each.is_running():
                    raise RuntimeError(f"{each.name} ended with {each.process.returncode}: {each.logged()}")
            if time.monotonic() > end:
                states = "\n".join(f"{node.name}: {node.readiness()}" for node in self.nodes)
                raise RuntimeError(f"it did not come about that {what}:\n{states}")
            time.sleep(0.1)

    def all_say(self, **expected):
        """Whether the readiness of every node has these values."""
        return all(
            {name: state.get(name) for name in expected} == expected
            for state in (node.readiness() or {} for node in self.nodes))

    def owner(self, partition=0):
        return next((node for node in self.nodes if node.role(partition) == "owner"), None)

    def paths(self, path):
        """The path for each log of the cluster."""
        if self.partitions == 1:
            return [path]
        return [path + ("&" if "?" in path else "?") + f"partition={number}" for number in range(self.partitions)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.send(signal.SIGCONT)
            node.send(signal.SIGTERM)
        for node in self.nodes:
            node.end(signal.SIGTERM)
        for broker in self.brokers:
            broker.end(signal.SIGTERM)
        self.network.close()

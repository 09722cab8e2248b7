"""Starts a cluster on this machine, tortures one, or measures one. Tools/cluster calls it."""

import argparse
import os
import signal
import sys
import tempfile
import threading

from machines import Cluster
import figures
import torture


def main():
    parser = argparse.ArgumentParser(prog="Tools/cluster", description="Three brokers and three servers on this machine.")
    parser.add_argument("--server", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--broker", required=True, help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command")
    start = commands.add_parser("start", help="run until Ctrl-C, and print where they are (the default)")
    start.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    start.add_argument("--nodes", type=int, choices=range(1, 6), default=3)
    start.add_argument("--partitions", type=int, default=1, help="streams, stores and owners that share the users")
    start.add_argument("--directory", help="keeps brokers and stores; a temporary one without it")
    torture_ = commands.add_parser("torture", help="write while parts are killed, paused and cut off; check every promise")
    torture_.add_argument("--seed", type=int, default=1)
    torture_.add_argument("--seconds", type=int, default=60)
    torture_.add_argument("--partitions", type=int, default=1)
    torture_.add_argument("--keep", action="store_true", help="leave stores and logs, and say where")
    torture_.add_argument("--no-namespaces", action="store_true", help="cut nobody off: everything on loopback")
    figures_ = commands.add_parser("figures", help="measure beside a single server and beside bare publishing")
    figures_.add_argument("--events", type=int, default=200_000)
    figures_.add_argument("--appends", type=int, default=1_000, help="single appends, one after the other")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if arguments.command == "torture":
        directory = tempfile.mkdtemp(prefix="traylog-cluster.")
        held = False
        try:
            held = torture.run(arguments.server, arguments.broker, directory, arguments.seed, arguments.seconds,
                               not arguments.no_namespaces, arguments.partitions)
        finally:
            leave(directory, arguments.keep or not held)
        return 0 if held else 1
    if arguments.command == "figures":
        with tempfile.TemporaryDirectory(prefix="traylog-cluster.") as directory:
            figures.run(arguments.server, arguments.broker, directory, arguments.events, arguments.appends)
        return 0
    return run(arguments)


def leave(directory, stays):
    if stays:
        print(f"stores and logs: {directory}")
    else:
        import shutil
        shutil.rmtree(directory, ignore_errors=True)


def run(arguments):
    brokers = getattr(arguments, "brokers", 3)
    directory = getattr(arguments, "directory", None)
    with tempfile.TemporaryDirectory(prefix="traylog-cluster.") as temporary:
        options = ["--allow-unsafe-log"] if brokers == 1 else []
        with Cluster(arguments.server, arguments.broker, os.path.abspath(directory or temporary), brokers=brokers,
                     nodes=getattr(arguments, "nodes", 3), options=options,
                     partitions=getattr(arguments, "partitions", 1)) as cluster:
            cluster.start()
            for broker in cluster.brokers:
                print(f"broker: {broker.url} {broker.monitor}")
            for node in cluster.nodes:
                print(f"node: {node.url} {' '.join(state.get('role', '') for state in node.states())}")
            print(f"key: {cluster.key}", flush=True)
            try:
                threading.Event().wait()
            except KeyboardInterrupt:
                pass
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""UmaDB, an event store with a tag index: its server and its Python client, both from the wheel `umadb`.

    uma_store.py -c bulk|callers -o DIR -n EVENTS …

An event has 156 bytes, its kind, and its user as a tag, by which the server indexes it; there are no counts, so it does
less than the others. A transaction is one append. In bulk three threads append, so that the server need not wait for the
client; callers are threads, and the server commits together what comes together. Options are those of bench.h.
"""

import argparse
import bisect
import itertools
import os
import signal
import subprocess
import sys
import threading
import time

import umadb

MASK = (1 << 64) - 1
PAYLOAD_BYTES = 156


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", dest="case", required=True)
    parser.add_argument("-o", dest="directory", required=True)
    parser.add_argument("-n", dest="events", type=int, default=100_000)
    parser.add_argument("-u", dest="users", type=int, default=100_000)
    parser.add_argument("-b", dest="batch", type=int, default=1_000)
    parser.add_argument("-t", dest="callers", type=int, default=64)
    parser.add_argument("-q", dest="queries", type=int)
    parser.add_argument("-d", dest="distribution", default="zipf")
    return parser.parse_args()


def words(state):
    """SplitMix64."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        word = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
        yield word ^ (word >> 31)


def workload(settings):
    sums = list(itertools.accumulate(1 / (rank + 1) for rank in range(settings.users)))
    random = words(7)
    pool = b"".join(word.to_bytes(8, "little") for word in itertools.islice(words(42), 8192))
    events = []
    for index in range(settings.events):
        point = (next(random) >> 11) / (1 << 53) * sums[-1]
        user = (bisect.bisect_right(sums, point) * 61_803 + 7) % settings.users
        next(random)
        start = index * 64 % (len(pool) - PAYLOAD_BYTES)
        data = pool[start : start + PAYLOAD_BYTES]
        events.append(umadb.Event("notified", data, [f"user-{user:06}"]))
    return events


def start_server(settings):
    os.makedirs(settings.directory, exist_ok=True)
    port = 20_000 + os.getpid() % 20_000
    program = os.path.join(os.path.dirname(sys.executable), "umadb")
    command = [program, "--listen", f"127.0.0.1:{port}"]
    log = open(os.path.join(settings.directory, "server.log"), "wb")
    path = os.path.join(settings.directory, "uma.db")
    server = subprocess.Popen(command + ["--db-path", path], stdout=log, stderr=log)
    for _ in range(300):
        try:
            client = umadb.Client(f"http://127.0.0.1:{port}")
            client.head()
            return server, client
        except Exception:
            time.sleep(0.1)
    server.kill()
    raise SystemExit("umadb: the server does not answer")


def run_threads(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def bulk(settings, client, events):
    batches = [events[start : start + settings.batch] for start in range(0, len(events), settings.batch)]
    iterator, lock = iter(batches), threading.Lock()

    def append():
        while True:
            with lock:
                batch = next(iterator, None)
            if batch is None:
                return
            client.append(batch)

    start = time.monotonic()
    run_threads([append] * 3)
    return time.monotonic() - start, None


def callers(settings, client, events):
    latencies = [[] for _ in range(settings.callers)]

    def call(caller):
        for event in events[caller :: settings.callers]:
            start = time.monotonic()
            client.append([event])
            latencies[caller].append(time.monotonic() - start)

    start = time.monotonic()
    run_threads([lambda caller=caller: call(caller) for caller in range(settings.callers)])
    return time.monotonic() - start, sorted(itertools.chain(*latencies))


def main():
    settings = options()
    run = {"bulk": bulk, "callers": callers}[settings.case]
    events = workload(settings)
    server, client = start_server(settings)
    try:
        seconds, latencies = run(settings, client, events)
        head = client.head()
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
    if head != len(events):
        raise SystemExit(f"umadb: {head} events instead of {len(events)}")
    figures = {"perSecond": len(events) / seconds, "seconds": seconds}
    if latencies:
        figures["p50"] = latencies[len(latencies) // 2] * 1e6
        figures["p99"] = latencies[-1 - len(latencies) // 100] * 1e6
    print("{" + ",".join(f'"{key}":{value:.3f}' for key, value in figures.items()) + "}")


main()

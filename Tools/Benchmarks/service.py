#!/usr/bin/env python3
"""Measures the server beside references: Tools/Benchmarks/service.py --server PROGRAM [--constant PROGRAM] [--traylog PROGRAM] [CASE …]

Cases: read, write, bulk, listeners, idle, churn; all of them without. Needs wrk for read and write; redis-server and redis-benchmark
for the reference of write. Each result is one line of JSON. The servers listen on loopback, on ports of their own choice.
"""

import argparse
import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
import urllib.request


class Server:
    def __init__(self, program, directory):
        self.log = open(os.path.join(directory, "log"), "w")
        self.process = subprocess.Popen(
            [program, "--store", os.path.join(directory, "store"), "--listen", "127.0.0.1:0", "--dev"],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if line.startswith("key: "):
                self.key = line.split()[1]
            elif line.startswith("listening on "):
                self.url = line.split()[2]
                break
        self.port = int(self.url.rsplit(":", 1)[1])

    def call(self, path, body=None, kind="application/json"):
        request = urllib.request.Request(
            self.url + path, body, headers={"Authorization": f"Bearer {self.key}", "Content-Type": kind})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return answer.read()

    def memory(self):
        """Resident bytes, without pages of files."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"RssAnon:\s+(\d+) kB", file.read())[1]) * 1024

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


def processor_seconds(process):
    """What the process has used of processors, which other programs disturb less than the time on the clock."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(process, url, seconds, **options):
    """Requests a second, and the server's processor time for each in microseconds."""
    before = processor_seconds(process)
    rate = wrk(url, seconds, **options)
    return rate, round((processor_seconds(process) - before) * 1e6 / (rate * seconds), 1)


def wrk(url, seconds, connections=64, script=None, headers=()):
    command = ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"]
    for header in headers:
        command += ["-H", header]
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        if script:
            file.write(script)
            file.flush()
            command += ["-s", file.name]
        text = subprocess.run([*command, url], check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in text or "Socket errors" in text:
        raise SystemExit(f"requests failed:\n{text}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])


def read(server, options):
    """GET tray over connections that stay, beside the same Hummingbird answering a constant of the same size."""
    server.call("/v1/users/ann/notifications", b'{"title":"A","category":"c"}')
    size = len(server.call("/v1/users/ann/tray"))
    result = {}
    result["requestsPerSecond"], result["processorMicroseconds"] = loaded(
        server.process, f"{server.url}/v1/users/ann/tray", options.seconds, headers=[f"Authorization: Bearer {server.key}"])
    if options.constant:
        process = subprocess.Popen([options.constant, str(size)], stdout=subprocess.PIPE, text=True)
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        result["constant"], result["constantMicroseconds"] = loaded(process, f"http://127.0.0.1:{port}/", options.seconds)
        process.terminate()
        process.wait()
        result["ratio"] = round(result["requestsPerSecond"] / result["constant"], 2)
    return result


POST = """
local number = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  number = number + 1
  return wrk.format(nil, "/v1/users/user" .. (number % 1000) .. "/notifications", nil,
    '{"title":"A message","body":"Hello there, this is what somebody wrote.","thread":"7","category":"message"}')
end
"""


def write(server, options):
    """One durable notification a request over 64 connections, beside Redis with a sync of each write."""
    result = {}
    result["requestsPerSecond"], result["processorMicroseconds"] = loaded(
        server.process, server.url, options.seconds, script=POST, headers=[f"Authorization: Bearer {server.key}"])
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        directory = tempfile.mkdtemp(prefix="traylog-redis.", dir=options.directory)
        port = server.port + 1 if server.port < 65_000 else server.port - 1
        redis = subprocess.Popen(
            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", directory, "--appendonly", "yes",
             "--appendfsync", "always", "--save", ""], stdout=subprocess.DEVNULL)
        time.sleep(1)
        # A list of notifications, a set sorted by time, and two counters, as one step of one client.
        script = ("local u = ARGV[1] redis.call('LPUSH', 'inbox:' .. u, ARGV[2]) redis.call('ZADD', 'time:' .. u, 1, ARGV[3]) "
                  "redis.call('HINCRBY', 'count:' .. u, 'unread', 1) return redis.call('HINCRBY', 'count:' .. u, 'unseen', 1)")
        body = '{"title":"A message","body":"Hello there, this is what somebody wrote.","thread":"7","category":"message"}'
        count = str(max(2_000, int(result["requestsPerSecond"] * options.seconds / 4)))
        text = subprocess.run(
            ["redis-benchmark", "-p", str(port), "-c", "64", "-n", count, "-r", "1000", "-q",
             "EVAL", script, "0", "__rand_int__", body, "__rand_int__"], check=True, capture_output=True, text=True).stdout
        # The list, the set and the counters of each request, and the start of the server.
        result["redisMicroseconds"] = round(processor_seconds(redis) * 1e6 / int(count), 1)
        redis.terminate()
        redis.wait()
        shutil.rmtree(directory, ignore_errors=True)
        result["redis"] = float(re.findall(r"([\d.]+) requests per second", text)[-1])
        result["ratioToRedis"] = round(result["requestsPerSecond"] / result["redis"], 2)
    return result


def bulk(server, options):
    """Lines by one request, beside `traylog append` of the same lines."""
    lines = "".join(
        json.dumps({"kind": "notify", "user": f"user{number % 1_000}", "title": "A message", "thread": str(number % 50),
                    "body": "Hello there, this is what somebody wrote.", "category": "message"}) + "\n"
        for number in range(options.lines)).encode()
    start = time.perf_counter()
    server.call("/v1/commands", lines, "application/x-ndjson")
    result = {"linesPerSecond": round(options.lines / (time.perf_counter() - start))}
    if options.traylog:
        directory = tempfile.mkdtemp(prefix="traylog-append.", dir=options.directory)
        start = time.perf_counter()
        subprocess.run([options.traylog, "--store", os.path.join(directory, "s"), "append", "--ack", "-"], input=lines, check=True,
                       stdout=subprocess.DEVNULL)
        result["append"] = round(options.lines / (time.perf_counter() - start))
        result["ratio"] = round(result["linesPerSecond"] / result["append"], 2)
        shutil.rmtree(directory, ignore_errors=True)
    return result


async def listen(server, count, users, query=""):
    """Opens live streams, and reads the present tray of each."""
    async def one(number):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write((f"GET /v1/users/user{number % users}/live{query} HTTP/1.1\r\nHost: a\r\n"
                      f"Authorization: Bearer {server.key}\r\n\r\n").encode())
        await reader.readuntil(b"\n\n")
        return reader, writer

    streams = []
    for start in range(0, count, 200):
        streams += await asyncio.gather(*(one(number) for number in range(start, min(start + 200, count))))
    return streams


def listeners(server, options):
    """What 1,000 listeners cost a writer of other users' notifications, with and without items: all in turn, three times."""
    async def measure():
        script = POST.replace('"/v1/users/user"', '"/v1/users/other"')
        headers = [f"Authorization: Bearer {server.key}"]
        rates, times = {}, {}
        for _ in range(3):
            for name, query in (("alone", None), ("watched", ""), ("withItems", "?with=items")):
                streams = [] if query is None else await listen(server, 1_000, 1_000, query)
                rate, microseconds = await asyncio.to_thread(
                    loaded, server.process, server.url, options.seconds, script=script, headers=headers)
                for _, writer in streams:
                    writer.close()
                rates.setdefault(name, []).append(rate)
                times.setdefault(name, []).append(microseconds)
        middle = {name: sorted(values)[1] for name, values in rates.items()}
        cost = {name: round(1 - middle[name] / middle["alone"], 3) for name in ("watched", "withItems")}
        return {**middle, "cost": cost, "processorMicroseconds": {name: sorted(values)[1] for name, values in times.items()}}

    return asyncio.run(measure())


def idle(server, options):
    """Memory with 9,990 idle live streams."""
    async def measure():
        before = server.memory()
        streams = await listen(server, 9_990, 1_000)
        # A comment goes to each of them meanwhile.
        await asyncio.sleep(20)
        after = server.memory()
        for _, writer in streams:
            writer.close()
        return {"streams": len(streams), "bytesBefore": before, "bytes": after, "bytesEach": (after - before) // len(streams)}

    return asyncio.run(measure())


def churn(server, options):
    """Memory after connections came and went, in rounds of 2,000."""
    async def round_of(count):
        for _ in range(count // 100):
            streams = await listen(server, 100, 100)
            for _, writer in streams:
                writer.close()
            await asyncio.gather(*(writer.wait_closed() for _, writer in streams), return_exceptions=True)

    async def measure():
        sizes = []
        for _ in range(options.rounds):
            await round_of(2_000)
            await asyncio.sleep(2)
            sizes.append(server.memory())
        return {"connections": 2_000 * options.rounds, "bytes": sizes}

    return asyncio.run(measure())


CASES = {case.__name__: case for case in (read, write, bulk, listeners, idle, churn)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--constant")
    parser.add_argument("--traylog")
    parser.add_argument("--directory", help="where the stores are made (default: the temporary directory)")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES])
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 32_768), most))
    for name in options.cases or CASES:
        directory = tempfile.mkdtemp(prefix="traylog-service.", dir=options.directory)
        server = Server(options.server, directory)
        try:
            print(json.dumps({"case": name, **CASES[name](server, options)}), flush=True)
        finally:
            server.stop()
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()

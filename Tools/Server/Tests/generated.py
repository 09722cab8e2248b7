"""A Python client, generated from the description of the API: the paths and forms of its requests are written nowhere here."""

import importlib
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import typing

from served import Answer

try:
    import openapi_python_client
except ImportError:
    openapi_python_client = None

IS_INSTALLED = openapi_python_client is not None


class Generated:
    """The package, made once for each process."""

    holder = None

    @classmethod
    def make(cls, description):
        """Makes it from the description's text, and returns what the generator said."""
        if cls.holder is None:
            cls.holder = tempfile.TemporaryDirectory(prefix="traylog-client.")
            folder = pathlib.Path(cls.holder.name)
            (folder / "openapi.json").write_bytes(description)
            (folder / "config.yml").write_text("package_name_override: traylog_client\npost_hooks: []\n")
            cls.done = subprocess.run(
                [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--config", "config.yml",
                 "--meta", "none", "--output-path", "traylog_client"], cwd=folder, capture_output=True, text=True)
            sys.path.insert(0, cls.holder.name)
        return cls.done


class Client:
    """Calls operations by their names, as `trays.get_tray`, with a server key or a user's token."""

    def __init__(self, server, token):
        Generated.make(server.get("/openapi.json", who=None).body)
        self.models = importlib.import_module("traylog_client.models")
        self.server, self.called = server, set()
        made = importlib.import_module("traylog_client").AuthenticatedClient
        self.client = made(
            base_url=f"http://127.0.0.1:{server.port}", token=token, timeout=60,
            httpx_args={"event_hooks": {"response": [self.check]}})

    def check(self, response):
        """Holds an answer against the description, as `Server.call` does."""
        if "text/event-stream" in response.headers.get("Content-Type", ""):
            return
        response.read()
        request = response.request
        self.server.describe().check(request.method, request.url.raw_path.decode(), Answer(response.status_code, response.headers, response.content))

    def ask(self, operation, *arguments, **named):
        """The answer to an operation: `parsed` is what the client makes of it; `json`, `lines`, `status`, `headers` and `body` are as
        of `Server.call`. A body is given as JSON."""
        module, named = self.prepared(operation, named)
        answer = module.sync_detailed(*arguments, client=self.client, **named)
        self.called.add(operation)
        result = Answer(int(answer.status_code), answer.headers, answer.content)
        result.parsed = answer.parsed
        return result

    def lines(self, operation, *arguments, **named):
        """The lines of an answer that the client itself would take for one value, because the operation has both forms."""
        with self.stream(operation, *arguments, **named) as response:
            answer = Answer(response.status_code, response.headers, response.read())
        assert answer.status == 200, answer
        return answer.lines

    def stream(self, operation, *arguments, **named):
        """The answer to an operation that goes on, to be read while it comes."""
        module, named = self.prepared(operation, named)
        self.called.add(operation)
        return self.client.get_httpx_client().stream(**module._get_kwargs(*arguments, **named))

    def close(self):
        self.client.get_httpx_client().close()

    def prepared(self, operation, named):
        """The operation's module, and arguments as it takes them."""
        module = importlib.import_module(f"traylog_client.api.{operation}")
        parameters = inspect.signature(module.sync_detailed).parameters
        return module, {name: self.value(parameters[name].annotation, value) for name, value in named.items()}

    @staticmethod
    def value(annotation, value):
        """JSON becomes a model, text a time or a value of an enumeration."""
        for kind in (annotation, *typing.get_args(annotation)):
            if isinstance(value, list) and typing.get_origin(kind) is list:
                (member,) = typing.get_args(kind)
                return [member.from_dict(one) for one in value] if hasattr(member, "from_dict") else value
            if isinstance(value, dict) and hasattr(kind, "from_dict"):
                return kind.from_dict(value)
            if isinstance(value, str) and inspect.isclass(kind) and kind is not str and issubclass(kind, str):
                return kind(value)
            if isinstance(value, str) and inspect.isclass(kind) and kind.__name__ == "datetime":
                return kind.fromisoformat(value)
        return value

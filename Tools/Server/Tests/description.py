"""What /openapi.json says of an operation; every answer that the tests get is held against it."""

import re


class Description:
    def __init__(self, document):
        self.document = document
        self.paths = []
        for template, operations in document["paths"].items():
            pattern = re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(template))
            self.paths.append((template.count("{"), re.compile(pattern + "$"), operations))
        # What is fixed comes before variables.
        self.paths.sort(key=lambda path: path[0])

    def operation(self, method, path):
        for _, pattern, operations in self.paths:
            if pattern.match(path):
                name = method.lower()
                if name == "head" and name not in operations:
                    name = "get"
                return operations.get(name)
        return None

    def check(self, method, target, answer):
        """Raises AssertionError for a status, content type or header that the operation does not have."""
        operation = self.operation(method, target.split("?")[0])
        if operation is None:
            return
        where = f"{method} {target} {answer.status}"
        described = operation["responses"].get(str(answer.status))
        assert described is not None, f"{where}: the status is not described"
        kinds = described.get("content", {})
        kind = answer.headers.get("Content-Type")
        if answer.body and method != "HEAD":
            assert kind in kinds, f"{where}: {kind} is not described"
        known = {name.lower() for name in described["headers"]}
        known |= {"content-type", "content-length", "transfer-encoding", "date", "server", "connection"}
        extra = {name.lower() for name in answer.headers} - known
        assert not extra, f"{where}: {extra} are not described"

    def check_event(self, target, name, identity):
        """Raises AssertionError for an event of a live stream that the operation does not have."""
        content = self.operation("GET", target.split("?")[0])["responses"]["200"]["content"]
        kinds = {kind["properties"]["event"]["enum"][0]: kind for kind in content["text/event-stream"]["schema"]["oneOf"]}
        assert name in kinds, f"{target}: the event {name} is not described"
        assert ("id" in kinds[name]["required"]) == (identity is not None), f"{target}: {name} with the id {identity}"

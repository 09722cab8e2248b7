"""What /openapi.json says of an operation; every answer that the tests get is held against it."""

import json
import re

try:
    # Schemathesis brings it along. Without it the shapes of bodies are not checked.
    import jsonschema_rs
except ImportError:
    jsonschema_rs = None


class Description:
    def __init__(self, document):
        self.document = document
        self.validators = {}
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
            self.check_body(where, kind, kinds[kind]["schema"], answer.body)
        known = {name.lower() for name in described["headers"]}
        known |= {"content-type", "content-length", "transfer-encoding", "date", "server", "connection"}
        extra = {name.lower() for name in answer.headers} - known
        assert not extra, f"{where}: {extra} are not described"

    def check_body(self, where, kind, schema, body):
        """Raises AssertionError for a body, or a line of one, that is not as its schema says."""
        if kind == "application/x-ndjson":
            for line in body.splitlines():
                self.validate(where, schema["contentSchema"], json.loads(line))
        elif kind.endswith("json"):
            self.validate(where, schema, json.loads(body))

    def validate(self, where, schema, value):
        if jsonschema_rs is None:
            return
        name = json.dumps(schema)
        validator = self.validators.get(name)
        if validator is None:
            whole = schema | {"components": self.document["components"]}
            validator = self.validators[name] = jsonschema_rs.Draft202012Validator(whole, validate_formats=True)
        errors = [f"{list(error.instance_path)}: {error.message}"[:600] for error in validator.iter_errors(value)]
        assert not errors, f"{where}: {errors}"

    def check_event(self, target, name, identity, data):
        """Raises AssertionError for an event of a live stream that the operation does not have, or with other data."""
        content = self.operation("GET", target.split("?")[0])["responses"]["200"]["content"]
        kinds = {kind["properties"]["event"]["enum"][0]: kind for kind in content["text/event-stream"]["schema"]["oneOf"]}
        assert name in kinds, f"{target}: the event {name} is not described"
        assert ("id" in kinds[name]["required"]) == (identity is not None), f"{target}: {name} with the id {identity}"
        self.validate(f"{target}: {name}", kinds[name]["properties"]["data"]["contentSchema"], data)

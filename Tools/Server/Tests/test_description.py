"""The description of the API is one that clients can be generated from."""

import json
import unittest

from served import Server

# What stands for any JSON.
SHAPELESS = {"data", "payload", "progress", "outcome", "options", "event", "cache", "store"}
FORMS = {"type", "$ref", "oneOf", "anyOf", "allOf", "enum", "const"}


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def schemas(value, name):
    """Each schema inside of another, with the name of the member that it describes."""
    yield name, value
    for member, part in value.get("properties", {}).items():
        yield from schemas(part, member)
    for word in ("items", "additionalProperties", "contentSchema"):
        if isinstance(value.get(word), dict):
            yield from schemas(value[word], name)
    for word in ("oneOf", "anyOf", "allOf"):
        for part in value.get(word, []):
            yield from schemas(part, name)


class DescriptionTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Server() as server:
            cls.document = server.get("/openapi.json", who=None).json

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def test_each_operation_has_an_identifier_of_its_own_and_a_tag(self):
        names = [operation["operationId"] for _, operation in operations(self.document)]
        self.assertEqual(len(names), len(set(names)))
        tags = {tag["name"] for tag in self.document["tags"]}
        for name, operation in operations(self.document):
            self.assertRegex(operation["operationId"], r"^[a-z][A-Za-z0-9]*$")
            self.assertEqual(len(operation["tags"]), 1, name)
            self.assertLessEqual(set(operation["tags"]), tags, name)

    def test_each_object_that_is_answered_names_the_members_that_it_always_has(self):
        for name, operation in operations(self.document):
            for status, response in operation["responses"].items():
                schema = response.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and schema:
                    schema = self.resolved(self.resolved(schema).get("items", schema))
                    self.assertTrue(schema.get("required"), (name, status))

    def test_each_parameter_is_bounded(self):
        for name, operation in operations(self.document):
            for parameter in operation["parameters"]:
                schema, where = parameter["schema"], (name, parameter["name"])
                if schema["type"] == "string":
                    self.assertTrue({"maxLength", "pattern", "format", "enum"} & set(schema), where)
                if schema["type"] == "integer":
                    self.assertTrue({"minimum", "maximum"} & set(schema), where)
                if parameter["name"] == "limit":
                    self.assertLessEqual({"minimum", "maximum"}, set(schema), where)

    def test_only_what_may_hold_any_json_is_without_shape(self):
        roots = list(self.document["components"]["schemas"].items())
        for name, operation in operations(self.document):
            for response in [operation.get("requestBody", {}), *operation["responses"].values()]:
                roots += [(name, content["schema"]) for content in response.get("content", {}).values()]
        for root, schema in roots:
            for name, part in schemas(schema, root):
                self.assertTrue(FORMS & set(part) or name in SHAPELESS, f"{root}: {name} is {json.dumps(part)}")

    def test_each_reference_leads_somewhere_and_nothing_is_left_over(self):
        text = json.dumps(self.document)
        idle = [name for name in self.document["components"]["schemas"] if f'"#/components/schemas/{name}"' not in text]
        self.assertEqual(idle, [], "nothing refers to them")
        for _, operation in operations(self.document):
            for response in operation["responses"].values():
                for header in response["headers"].values():
                    self.assertIn(header["$ref"].rsplit("/", 1)[1], self.document["components"]["headers"])


if __name__ == "__main__":
    unittest.main()

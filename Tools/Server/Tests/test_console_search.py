"""What the console's searches say: what a key may search, and where else something matches."""

import unittest

from consoled import Visitor, console_server, text_of


class SearchTests(unittest.TestCase):
    def test_the_search_box_promises_what_the_key_may_search(self):
        with console_server() as server:
            for role, label, words in (
                    ("viewer", "Search users", "searched on the page of a user"),
                    ("auditor", "Search users, events, keys and words", "the key of a command"),
                    ("operator", "Search users, events, keys and words", "the key of a command")):
                page = Visitor(server, role).get("/search")
                self.assertIn(f'for="find">{label}</label>', page.body.decode(), role)
                self.assertIn(words, text_of(page), role)

    def test_words_that_match_in_another_view_lead_there(self):
        with console_server() as server:
            invoice = server.notify("ann", title="Your March invoice").json["seq"]
            server.notify("ann", title="Your April invoice")
            server.notify("ann", title="Hello")
            server.post("/v1/users/ann/marks", {"as": "archived", "items": [invoice]})
            visitor = Visitor(server, "viewer")
            page = visitor.get("/users/ann?text=march")
            self.assertIn("No item of the inbox matches", text_of(page))
            self.assertIn("Archived: 1 match", text_of(page))
            self.assertIn('href="?view=archived&amp;text=march"', page.body.decode().replace("&text", "&amp;text"))
            self.assertNotIn("still in the tray", text_of(page))
            self.assertIn("Your March invoice", text_of(visitor.get("/users/ann?view=archived&text=march")))
            self.assertIn("Inbox: 1 match", text_of(visitor.get("/users/ann?view=archived&text=april")))
            self.assertNotIn("1 match", text_of(visitor.get("/users/ann?text=april")))
            self.assertIn("No item matches", text_of(visitor.get("/users/ann?text=nothing")))


if __name__ == "__main__":
    unittest.main()

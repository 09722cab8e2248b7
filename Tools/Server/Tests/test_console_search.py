"""What the console's searches say: what a key may search, and where else something matches."""

import os
import re
import time
import unittest

from consoled import Visitor, console_server, flip, text_of


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

    def named(self, page):
        """The lists of named items below a person's list, by their titles."""
        lists = re.findall(r'gone-items"><h3>([^<]*)</h3><ul>(.*?)</ul>', page.body.decode(), re.DOTALL)
        return {title: re.findall(r'data-open="(\d+)"', items) for title, items in lists}

    def test_what_was_sent_silently_is_found_and_can_be_listed(self):
        with console_server() as server:
            server.notify("ann", title="Your March invoice", silent=True)
            archived = server.notify("ann", title="Your April invoice", silent=True).json["seq"]
            server.post("/v1/users/ann/marks", {"as": "archived", "items": [archived]})
            visitor = Visitor(server, "viewer")
            page = visitor.get("/users/ann?text=march")
            self.assertIn("Inbox, sent silently: 1 match", text_of(page))
            self.assertNotIn("No item matches", text_of(page))
            self.assertIn("Archived, sent silently: 1 match", text_of(visitor.get("/users/ann?text=april")))
            there = re.search(r'href="(\?[^"]*silent=true[^"]*)"', page.body.decode()).group(1).replace("&amp;", "&")
            listed = visitor.get(f"/users/ann{there}")
            self.assertIn("Your March invoice", text_of(listed))
            self.assertIn('<span class="tag">silent</span>', listed.body.decode())
            # Of all other words none are there.
            self.assertIn("No item matches", text_of(visitor.get("/users/ann?text=march+april")))

    def test_what_is_planned_is_found_and_the_persons_page_leads_to_it(self):
        with console_server() as server:
            later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
            server.notify("ann", title="Your March invoice", key="march-1", notBefore=later)
            server.notify("bob", title="Your March invoice", notBefore=later)
            visitor = Visitor(server, "viewer")
            self.assertRegex(text_of(visitor.get("/users/ann")), r"Planned\s+1")
            self.assertNotIn("Planned", text_of(visitor.get("/users/nobody")))
            for words in ("march", "invoice+your", "march-1"):
                page = visitor.get(f"/users/ann?text={words}")
                self.assertIn("Planned: 1 match", text_of(page), words)
                self.assertNotIn("No item matches", text_of(page), words)
            self.assertIn("No item matches", text_of(visitor.get("/users/ann?text=april")))
            planned = visitor.get("/planned?user=ann")
            self.assertEqual(planned.body.decode().count("Your March invoice"), 1)
            self.assertIn("Planned for ann", text_of(planned))
            self.assertIn("Nothing is planned for this person", text_of(visitor.get("/planned?user=carl")))

    def test_an_item_is_found_by_its_key_and_by_its_number(self):
        with console_server() as server:
            seq = server.notify("ann", title="Your March invoice", key="order-4711").json["seq"]
            visitor = Visitor(server, "viewer")
            for words in ("order-4711", str(seq)):
                page = visitor.get(f"/users/ann?text={words}")
                self.assertEqual(self.named(page), {"With this key or number": [str(seq)]})
                self.assertNotIn("No item matches", text_of(page))
            self.assertIn("No item matches", text_of(visitor.get("/users/ann?text=order-4712")))
            self.assertIn("No item matches", text_of(visitor.get("/users/bob?text=order-4711")))

    def test_words_stand_in_any_order_in_items_that_are_gone_and_in_the_log(self):
        with console_server() as server:
            seq = server.notify("ann", title="Order 4711", body="has shipped").json["seq"]
            server.notify("ann", title="Order 4712", body="has shipped")
            server.call("DELETE", f"/v1/users/ann/items/{seq}")
            visitor = Visitor(server, "auditor")
            page = visitor.get("/users/ann?text=shipped+4711")
            self.assertEqual(self.named(page), {"No longer in the tray, with these words": [str(seq)]})
            text = text_of(page)
            # What was found comes first, and alone has a heading.
            self.assertLess(text.index("Order 4711"), text.index("Nothing that is still in the tray matches"))
            self.assertEqual(re.findall(r"<h3>(.*?)</h3>", page.body.decode())[0], "No longer in the tray, with these words")
            for path in ("/log", "/users/ann/timeline"):
                rows = re.findall(r'<tr data-seq="(\d+)"', visitor.get(f"{path}?text=shipped+4711").body.decode())
                # The event that took it back is about it, too.
                self.assertEqual(rows, ["3", str(seq)], path)
            self.assertIn("Order 4711", text_of(visitor.get("/search?q=shipped+4711")))

    def test_events_that_cannot_be_read_are_said_not_to_be_searched(self):
        with console_server() as server:
            for number in range(1, 6):
                server.notify("ann", title=f"Title number {number}.")
            server.call("DELETE", "/v1/users/ann/items/1")
            server.owns = False
            server.stop()
            self.assertGreater(flip(os.path.join(server.directory, "store"), b"Title number 3."), 0)
            with console_server(directory=server.directory) as damaged:
                visitor = Visitor(damaged, "auditor")
                for words in ("nothing", "3"):
                    page = text_of(visitor.get(f"/users/ann?text={words}"))
                    self.assertIn("Not searched: 1 event of this person cannot be read.", page)
                    self.assertNotIn("No item matches", page)
                # What can be read is found, before the damage and after it.
                page = visitor.get("/users/ann?text=number+4")
                self.assertEqual(self.named(page).get("In the tray, with these words"), ["4"])
                page = visitor.get("/users/ann?text=number+1")
                self.assertEqual(self.named(page).get("No longer in the tray, with these words"), ["1"])
                self.assertNotIn("Nothing in the inbox", text_of(visitor.get("/users/ann")))

    def test_a_search_for_words_leads_to_the_search_for_a_key(self):
        with console_server() as server:
            server.notify("ann", title="Your March invoice", key="order-4711")
            visitor = Visitor(server, "auditor")
            for path in ("/log", "/users/ann/timeline"):
                page = visitor.get(f"{path}?text=order-4711")
                self.assertIn("Words were searched in titles and bodies", text_of(page))
                self.assertIn('href="?key=order-4711"', page.body.decode())
                self.assertIn("Your March invoice", text_of(visitor.get(f"{path}?key=order-4711")))
                self.assertNotIn("search for the key", text_of(visitor.get(f"{path}?key=order-4712")))

    def test_the_search_box_says_what_a_key_may_not_search_and_who_is_held(self):
        with console_server() as server:
            server.notify("ann", title="Your March invoice", key="order-4711")
            server.call("PUT", "/v1/users/ann/hold", {})
            viewer = text_of(Visitor(server, "viewer").get("/search?q=order-4711"))
            self.assertIn("Events were not searched: their keys and words need a key with the scope audit", viewer)
            auditor = Visitor(server, "auditor")
            self.assertNotIn("not searched", text_of(auditor.get("/search?q=order-4711")))
            self.assertRegex(text_of(auditor.get("/search?q=ann")), r"ann\s+on hold")


if __name__ == "__main__":
    unittest.main()

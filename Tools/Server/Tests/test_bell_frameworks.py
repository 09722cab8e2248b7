"""The bell as frameworks use it, and its types in a strict TypeScript project."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from test_bell import FOLDER, ROOT
from test_bell_pages import PageCase

GUIDES = pathlib.Path(__file__).parents[3] / "Docs/guides"
STRICT = {
    "strict": True, "noEmit": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True, "target": "es2022",
    "module": "esnext", "moduleResolution": "node", "lib": ["es2022", "dom", "dom.iterable"], "types": [],
}


class FrameworksTest(PageCase):
    def framed(self, script):
        """A page that loads the bell itself, as an app's bundle does."""
        self.fill(2)
        self.app.pages["/framed"] = (
            "<!doctype html><html lang=en><meta charset=utf-8><title>App</title><main id=app></main><script type=module>"
            f"const server = {json.dumps(self.app.url_of_server)}; const load = () => import(server + '/bell/v1/bell.js');\n{script}</script>")
        self.browser.open(self.app.page("/framed"))
        self.browser.wait("document.querySelector('traylog-bell')?.shadowRoot?.querySelector('.bell') || window.found || window.isDone")

    def test_properties_that_are_set_before_the_module_came_are_kept(self):
        self.framed("""
            const bell = document.createElement("traylog-bell");
            bell.setAttribute("server", server);
            bell.setAttribute("token-url", "/token");
            bell.renderItem = (item) => Object.assign(document.createElement("em"), { textContent: `* ${item.title}` });
            bell.strings = { inbox: "Mine" };
            app.append(bell);
            await load();""")
        self.badge("2")
        self.open_panel()
        self.browser.wait(f"{ROOT}.querySelector('article em')?.textContent === '* Item 1'")
        self.assertEqual(self.browser.run(f"return {ROOT}.querySelector('[role=tab]').textContent"), "Mine")
        self.assertEqual(self.severe(), [])

    def test_a_client_that_is_set_before_the_module_came_is_shown(self):
        self.framed("""
            const bell = document.createElement("traylog-bell");
            const { TrayClient } = await import(server + "/bell/v1/client.js");
            const token = async () => (await (await fetch("/token")).json()).token;
            bell.client = new TrayClient({ server, token });
            app.append(bell);
            await load();""")
        self.badge("2")

    def test_mounting_again_and_again_leaves_one_stream_and_the_right_number(self):
        self.framed("""
            await load();
            const mount = () => {
                const bell = document.createElement("traylog-bell");
                app.replaceChildren(bell);
                bell.setAttribute("server", server);
                bell.setAttribute("token-url", "/token");
                bell.setAttribute("user", "ann");
                return bell;
            };
            // As React does in strict mode, and a router on each page.
            for (let count = 0; count < 20; count++) {
                const bell = mount();
                bell.remove();
                app.append(bell);
                await new Promise((go) => setTimeout(go, count * 5));
            }
            window.isDone = true;""")
        self.browser.wait("window.isDone")
        self.badge("2")
        streams = lambda: int(re.search(r"^traylog_live_streams (\d+)", self.server.get("/metrics").body.decode(), re.M)[1])  # noqa: E731
        self.wait_for(lambda: streams() == 1, "there is one stream")
        self.fill(1)
        self.badge("3")
        self.assertEqual(self.severe(), [])

    def test_attributes_that_a_template_turns_off_are_off(self):
        """Vue writes `group="false"` where React leaves the attribute out."""
        self.fill(3, thread="t")
        for value, articles in (('group="false"', 3), ('group=""', 1), ("group", 1), ("", 3)):
            self.show(attributes=value)
            self.open_panel()
            self.count(articles)

    def test_the_modules_can_be_imported_where_there_is_no_window(self):
        """As a server does that draws pages: here a worker, which has no elements either."""
        self.app.pages["/worker.js"] = (
            f"import {{ TraylogBell, TrayClient }} from '{self.app.url_of_server}/bell/v1/bell.js';"
            "postMessage([typeof window, typeof HTMLElement, typeof TraylogBell, typeof TrayClient]);")
        self.app.types["/worker.js"] = "text/javascript"
        self.framed("""
            const worker = new Worker("/worker.js", { type: "module" });
            worker.onmessage = ({ data }) => (window.found = data);
            worker.onerror = ({ message }) => (window.found = message);""")
        self.assertEqual(self.browser.wait("window.found"), ["undefined", "undefined", "function", "function"])

    def test_two_addresses_of_the_module_in_one_page_are_one_element(self):
        self.framed("""
            const bell = document.createElement("traylog-bell");
            bell.setAttribute("server", server);
            bell.setAttribute("token-url", "/token");
            app.append(bell);
            await load();
            await import(server + "/bell/v1/bell.js?v=3");""")
        self.badge("2")
        self.assertEqual(self.severe(), [])


@unittest.skipUnless(shutil.which("tsc"), "needs tsc (Debian's package node-typescript)")
class TypesTest(unittest.TestCase):
    def check(self, code):
        """What tsc says of a project as the guide sets it up."""
        guide = (GUIDES / "coming-from-novu-or-knock.md").read_text()
        settings = json.loads(re.search(r"^```json\n(.*?)^```", guide, re.M | re.S)[1])
        with tempfile.TemporaryDirectory() as directory:
            types = pathlib.Path(directory, "types")
            types.mkdir()
            for name in ("bell.d.ts", "client.d.ts"):
                shutil.copy(FOLDER / name, types)
            pathlib.Path(directory, "use.ts").write_text(code)
            settings["compilerOptions"] |= STRICT
            pathlib.Path(directory, "tsconfig.json").write_text(json.dumps(settings))
            return subprocess.run(["tsc", "-p", "."], cwd=directory, capture_output=True, text=True).stdout

    def test_a_strict_project_accepts_the_types(self):
        self.assertEqual(self.check("""
            import { TraylogBell, TrayClient, TrayProblem } from "https://trays.example.org/bell/v1/bell.js";
            import type { BellAttributes, BellData } from "https://trays.example.org/bell/v1/bell.js";
            import type { Inbox, Item, Tray } from "https://trays.example.org/bell/v1/client.js";
            const bell: TraylogBell = document.createElement("traylog-bell");
            bell.strings = { lang: "nl", title: "Meldingen", more: { one: "{n} melding", other: "{n} meldingen" } };
            bell.renderItem = (item: Item) => Object.assign(document.createElement("em"), { textContent: item.title ?? "" });
            document.addEventListener("traylog-open", (event) => { const seq: number = event.detail.seq; void seq; });
            bell.addEventListener("traylog-signin", (event) => { if (event.detail.isAsked) event.preventDefault(); });
            const client = new TrayClient({ server: "/", token: async () => "token" });
            client.addEventListener("problem", ({ detail }) => { const problem: TrayProblem = detail; void problem.status; });
            client.addEventListener("items", ({ detail }) => { const inbox: Inbox = detail; void inbox.shownAsOf; });
            const tray: Tray | null = client.tray;
            void tray?.categories["build"]?.unread;
            void client.undo(client.markAll("read", { category: "build" }));
            client.background = true;
            void client.mute({ topic: "news", until: new Date() });
            const attributes: BellAttributes = { server: "/", "token-url": "/token", group: true, theme: "dark", "system-notifications": "" };
            const data: BellData = { name: "Maria", image: "/maria.png", icon: "comment", url: "/posts/1" };
            void attributes; void data; bell.client = client;
        """), "")

    def test_a_strict_project_refuses_what_is_wrong(self):
        wrong = self.check("""
            import { TrayClient } from "https://trays.example.org/bell/v1/bell.js";
            const client = new TrayClient({ server: 7, token: "x" });
            client.tray.unread;
            client.mark("reed", 1);
            document.createElement("traylog-bell").renderItem = () => "text";
        """)
        self.assertEqual(len(re.findall(r"error TS", wrong)), 4, wrong)

    def test_the_guides_samples_for_typescript_are_accepted(self):
        samples = re.findall(r"^```ts\n(.*?)^```", (GUIDES / "coming-from-novu-or-knock.md").read_text(), re.M | re.S)
        self.assertGreater(len(samples), 0)
        for sample in samples:
            self.assertEqual(self.check(sample), "", sample)


if __name__ == "__main__":
    unittest.main()

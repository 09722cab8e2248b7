// Loads what a page needs.

import { announce, find, localize, sayZone, zone } from "./dom.js";

sayZone();
// Times are typed as they are shown: in the browser's zone, which the server learns by this.
document.cookie = `traylog-zone=${encodeURIComponent(zone)}; Path=/console; SameSite=Strict; Max-Age=31536000`;
localize();

// The search box is one key away, but for keys that are typed into a field.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  find("#find")?.focus();
});

// Paper says when it was printed, which may be long after the page was opened.
addEventListener("beforeprint", () => {
  const time = find("[data-printed]");
  if (!time) return;
  time.dateTime = new Date().toISOString();
  time.title = "";
  localize(time.parentElement);
});

const scripts = {
  overview: () => import("./overview.js"),
  user: () => import("./user.js"),
  timeline: () => import("./timeline.js"),
  log: () => import("./timeline.js"),
  event: () => import("./event.js"),
  tree: () => import("./tree.js"),
  run: () => import("./run.js"),
};

await scripts[document.body.dataset.page]?.();

// What takes longer than a moment is said to be under way: until the next page begins, the one before it stays.
function leave() {
  document.documentElement.dataset.leaving = "";
  setTimeout(() => "leaving" in document.documentElement.dataset && announce("The page is being made."), 1000);
}
document.addEventListener("submit", (event) => event.defaultPrevented || leave());
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const isPlain = !event.defaultPrevented && !event.button && !event.metaKey && !event.ctrlKey && !event.shiftKey;
  if (link && isPlain && !link.target && !link.download && link.pathname + link.search !== location.pathname + location.search) leave();
});
addEventListener("pagehide", () => delete document.documentElement.dataset.leaving);

// A form is sent once.
document.addEventListener("submit", (event) => {
  const button = find("button:not([type=button])", event.target);
  if (event.target.method === "post" && button) setTimeout(() => (button.disabled = true));
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

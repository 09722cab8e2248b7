// Loads what a page needs.

import { announce, find, localize, sayZone, timesMode, zone } from "./dom.js";

function showTimes() {
  sayZone();
  // Times are typed as they are shown: in this zone, which the server learns by this.
  const typed = timesMode() === "utc" ? "UTC" : zone;
  document.cookie = `traylog-zone=${encodeURIComponent(typed)}; Path=/console; SameSite=Strict; Max-Age=31536000`;
  localize();
  dispatchEvent(new Event("times"));
}
showTimes();
setInterval(() => localize(), 30000);
const times = find("[data-times]");
if (times) {
  times.parentElement.hidden = false;
  times.value = timesMode();
  times.addEventListener("change", () => {
    localStorage.setItem("traylog-times", times.value);
    showTimes();
  });
}

// An address has the fields that say something.
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.method !== "get") return;
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

// The search box is one key away, but for keys that are typed into a field.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  find("#find")?.focus();
});

// Paper has exact times, and says when it was printed, which may be long after the page was opened.
addEventListener("beforeprint", () => {
  const time = find("[data-printed]");
  if (time) time.dateTime = new Date().toISOString();
  localize(document, true);
});
addEventListener("afterprint", () => localize());

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

// Loads what a page needs.

import { announce, element, find, icon, localize, sayZone, timesMode, zone } from "./dom.js";

function showTimes() {
  sayZone();
  // Times are typed as they are shown: in this zone, which the server learns by this.
  const typed = timesMode() === "utc" ? "UTC" : zone;
  document.cookie = `traylog-zone=${encodeURIComponent(typed)}; Path=/; SameSite=Strict; Max-Age=31536000`;
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
addEventListener("afterprint", () => localize(document, false));
matchMedia("print").addEventListener("change", () => localize());

// A calendar beside the fields that take a time; what it gives is typed as the pages show times.
for (const field of document.querySelectorAll("[data-pick]")) {
  const calendar = element("input", { type: "datetime-local", class: "calendar", tabindex: "-1", "aria-hidden": "true" });
  const button = element("button", { type: "button", class: "quiet pick", title: "Choose a time" }, icon("clock"),
    element("span", { class: "unseen-text" }, `Choose a time for “${field.labels[0]?.textContent ?? field.name}”`));
  if (!calendar.showPicker) break;
  button.addEventListener("click", () => {
    calendar.value = field.value.replace(" ", "T").slice(0, 16);
    calendar.showPicker();
  });
  calendar.addEventListener("change", () => {
    field.value = calendar.value.replace("T", " ");
    field.focus();
  });
  const pair = element("span", { class: "picked" });
  field.replaceWith(pair);
  pair.append(field, button, calendar);
}

// Tools that start a server give its key behind the sign, which no server and no proxy is sent.
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given && find("#key")) {
  find("#key").value = given;
  history.replaceState(null, "", location.pathname + location.search);
}

const scripts = {
  overview: () => import("./overview.js"),
  user: () => find("[data-moment]") && import("./user.js"),
  timeline: () => import("./timeline.js"),
  log: () => import("./timeline.js"),
  event: () => find("[data-proof]") && import("./event.js"),
  tree: () => find("[data-tree]") && import("./tree.js"),
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

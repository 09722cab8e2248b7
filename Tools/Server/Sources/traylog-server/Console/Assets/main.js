// Loads what a page needs.

import { find, localize, sayZone } from "./dom.js";

sayZone();
localize();

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

// A form is sent once.
document.addEventListener("submit", (event) => {
  const button = find("button:not([type=button])", event.target);
  if (event.target.method === "post" && button) setTimeout(() => (button.disabled = true));
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

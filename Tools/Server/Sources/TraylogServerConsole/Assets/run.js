// A run of an operation: looks again until it is over.

import { alarm, announce, find, json, site } from "./dom.js";

const panel = find("[data-job]");
const began = performance.now();

async function look() {
  try {
    const job = await json(`${site}/data/admin/jobs/${panel.dataset.job}`);
    alarm("run", "");
    if (job.state !== "running") return location.reload();
    const bar = find("[data-progress]");
    if (typeof job.progress === "number" && job.progress > 0) bar.value = job.progress;
    find("[data-took]").textContent = `${((performance.now() - began) / 1000).toFixed(0)} s and going on`;
  } catch (failure) {
    alarm("run", `The state of this run is unknown: ${failure.message}. Trying again.`);
  }
  setTimeout(look, 500);
}

if (panel.dataset.state === "running") look();
else announce(`${panel.dataset.state}`);

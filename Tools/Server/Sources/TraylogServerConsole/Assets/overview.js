// The overview: figures as they move, and the end of the log.

import { all, colour, count, drawing, element, find, icon, json, live, localTime, site } from "./dom.js";
import { kept } from "./heads.js";
import { followRows } from "./timeline.js";

const samples = [];
const canvas = find("[data-spark]");
const cell = (name) => find(`[data-pulse="${name}"]`);

async function pulse() {
  if (document.hidden) return;
  let now;
  try {
    now = await json(`${site}/pulse`);
  } catch (failure) {
    show("Unknown", "fair", [{ bad: true, parts: [{ text: `The server does not answer: ${failure.message}.` }] }]);
    return;
  }
  // The banner of a failed check comes and goes with the page.
  if (now.failedChecks !== Number(find("[data-health]").dataset.failures)) return location.reload();
  samples.push({ at: performance.now(), head: now.head });
  while (samples.length > 61) samples.shift();
  cell("head").textContent = now.head;
  cell("floor").textContent = now.floor;
  cell("unflushed").textContent = count(now.unflushed);
  cell("tree").textContent = now.tree;
  cell("readers").textContent = count(now.readers);
  cell("archive").textContent = now.archive;
  cell("archiveNote").textContent = now.archiveNote;
  if (now.witnesses) cell("witnesses").textContent = now.witnesses;
  for (const [name, text] of Object.entries(now.recent)) {
    for (const part of all(`[data-recent="${name}"]`)) part.textContent = text;
  }
  trend(now.recent.trend);
  show(now.health, now.mark, now.findings);
  if (samples.length > 1) {
    const [before, last] = [samples.at(-2), samples.at(-1)];
    const rate = Math.max(0, ((last.head - before.head) * 1000) / (last.at - before.at));
    cell("rate").textContent = rate < 10 ? rate.toFixed(1) : count(Math.round(rate));
  }
  spark();
}

/** Notifications of the last days. */
function trend(text) {
  const line = find("[data-trend]");
  const values = text.split(" ").map(Number);
  line.hidden = values.length < 2 || !Math.max(...values);
  if (line.hidden) return;
  const { context, width, height } = drawing(line);
  const most = Math.max(...values);
  context.strokeStyle = colour("--accent");
  context.lineWidth = 1.4;
  context.beginPath();
  values.forEach((value, index) => context.lineTo((index * (width - 2)) / (values.length - 1) + 1, height - 2 - (value / most) * (height - 4)));
  context.stroke();
}

function spark() {
  canvas.hidden = samples.length < 3;
  if (canvas.hidden) return;
  const { context, width, height } = drawing(canvas);
  const rates = samples.slice(1).map((sample, index) => {
    const before = samples[index];
    return Math.max(0, (sample.head - before.head) / (sample.at - before.at));
  });
  const most = Math.max(...rates, 1e-9);
  context.strokeStyle = colour("--accent");
  context.lineWidth = 1.4;
  context.beginPath();
  rates.forEach((rate, index) => {
    const x = width - (rates.length - 1 - index) * (width / 60);
    const y = height - 2 - (rate / most) * (height - 4);
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  });
  context.stroke();
}

/** Where what to do is said; for who may not see it, who knows. */
const findingsLink = () =>
  "log" in document.querySelector("[data-problems]").dataset ? element("a", { href: `${site}/findings` }, "What to do") : "Ask an operator.";

function show(health, mark, findings) {
  const list = find("[data-problems]");
  const texts = all("[data-says]", list).map((line) => line.textContent);
  const text = ({ parts }) => parts.map((part) => part.text).join("");
  const state = find("[data-health]");
  if (state.textContent === health && texts.join("\n") === findings.map(text).join("\n")) return;
  list.replaceChildren(...findings.map(({ bad, parts, isFinding }) => element("li", { class: `note ${bad ? "bad" : "fair"}` }, icon("warning"),
    element("span", {}, element("span", { "data-says": "" }, ...parts.map((part) => (part.code ? element("code", {}, part.text) : part.text))),
      ...(isFinding ? [". ", findingsLink()] : [])))));
  state.replaceChildren(element("span", { class: `dot ${mark}` }), health);
}

const verified = kept().filter((head) => head.verifiedAt).sort((a, b) => b.size - a.size)[0];
if (verified) {
  find("[data-verified-when]").textContent = `this browser proved ${count(verified.size)} events, ${localTime(new Date(verified.verifiedAt))}`;
}

trend(find("[data-trend]").dataset.trend);
pulse();
setInterval(pulse, 2000);
const tail = find("[data-tail]");
if (tail) {
  followRows(tail, {
    stream: () => `${site}/data/log?offset=now&live=sse`,
    address: () => `${site}/log`,
    most: 25,
  });
} else if (find("#tail-title")) {
  live(() => `${site}/data/log?offset=now&live=sse`, ["data"], () => location.reload());
}

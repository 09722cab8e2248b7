// One tray at any moment: a slider over the user's events.

import { alarm, announce, find, live, localize, page, site } from "./dom.js";
import { append, chart, decode, include, moments, place, positionOf, scale, span, words, zoom } from "./slider.js";
import "./sheet.js";

const panel = find("[data-moment]");
const user = panel.dataset.user;
const slide = find("#slide");
const canvas = find("[data-chart]");
const bubble = find("[data-bubble]");
const root = `${site}/users/${user}`;

let position = 0;
let isPresent = find("[data-present]").hidden;
const fetched = new Map();
let shown;
/** Whether the moments of this user are here: without them there is nothing to draw. */
let isLoaded = false;
let isConnected = false;
/** Position and presence of what the page shows, while another moment is on its way. */
let settled;

/** Past or live: never both, and the way back to now is there as soon as the past is shown. */
function standing() {
  panel.classList.toggle("is-past", !isPresent);
  find("[data-past]", panel).hidden = isPresent;
  find("[data-present]", panel).hidden = isPresent;
  const since = find("[data-since]", panel);
  if (since) since.hidden = isPresent;
  find("[data-live]", panel).hidden = !isPresent || !isConnected;
}

/** The line, its dates, and the thumb. */
function draw() {
  canvas.hidden = !isLoaded || moments.seqs.length < 2;
  find("[data-slider]").hidden = canvas.hidden;
  if (canvas.hidden) return;
  slide.min = String(span.from);
  slide.max = String(span.to);
  slide.value = String(position);
  slide.setAttribute("aria-valuetext", `event ${moments.seqs[position]}, ${words(position)}`);
  const { width } = canvas.getBoundingClientRect();
  chart(canvas, position);
  scale(find("[data-scale]"), width);
  bubble.textContent = words(position);
  const half = bubble.getBoundingClientRect().width / 2;
  bubble.style.left = `${Math.min(Math.max(place(position, width), half + 4), width - half - 4)}px`;
  find("[data-nearer]").disabled = span.to - span.from <= 10;
  find("[data-wider]").disabled = span.to - span.from >= moments.seqs.length - 1;
}

/** Where the page of a moment is, with the filter of this one. */
function address(at) {
  const query = new URL(location.href).searchParams;
  for (const name of ["asOf", "cursor", "part"]) query.delete(name);
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  if (at !== null) query.set("asOf", String(at));
  return query.size ? `${root}?${query}` : root;
}

/** What leads from here on stays at the moment. */
function carry(at) {
  find("[data-as-of]").value = at ?? "";
  const since = find("[data-since]");
  if (since && at !== null) since.href = `${root}/difference?from=${at}`;
  const clear = find("[data-clear]");
  if (!clear) return;
  const there = new URL(clear.href);
  if (at === null) there.searchParams.delete("asOf");
  else there.searchParams.set("asOf", at);
  clear.href = there.href;
}

/** A page of the tray; those of neighbours are fetched before they are asked for. */
function tray(at) {
  const key = address(at);
  if (!fetched.has(key)) {
    if (fetched.size > 24) fetched.delete(fetched.keys().next().value);
    const coming = page(key);
    coming.catch(() => fetched.delete(key));
    fetched.set(key, coming);
  }
  return fetched.get(key);
}

function swap(next) {
  for (const selector of ["[data-part]", "[data-now]"]) {
    const part = document.importNode(find(selector, next), true);
    localize(part);
    find(selector).replaceWith(part);
  }
  for (const selector of ["[data-earlier]", "[data-later]"]) {
    const [link, other] = [find(selector), find(selector, next)];
    for (const name of ["href", "aria-disabled"]) {
      if (other.hasAttribute(name)) link.setAttribute(name, other.getAttribute(name));
      else link.removeAttribute(name);
    }
  }
}

/** Shows the moment of a position, the newest asked for if several are. */
async function show(index) {
  const before = [position, isPresent];
  position = Math.min(Math.max(index, 0), moments.seqs.length - 1);
  // The last event is the present, which goes on by itself.
  isPresent = position === moments.seqs.length - 1;
  settled ??= before;
  standing();
  const at = moments.seqs[position];
  const asked = (shown = Symbol(at));
  include(position);
  draw();
  try {
    const next = await (isPresent ? page(address(null)) : tray(at));
    if (asked !== shown) return;
    swap(next);
    alarm("moment", "");
    history.replaceState(null, "", address(isPresent ? null : at));
    carry(isPresent ? null : at);
    document.documentElement.dataset.shown = String(at);
    settled = undefined;
    for (const near of [position + 1, position - 1]) {
      if (near >= 0 && near < moments.seqs.length) tray(moments.seqs[near]).catch(() => {});
    }
  } catch (failure) {
    if (asked !== shown) return;
    // The thumb goes back to what the page shows.
    [position, isPresent] = settled ?? before;
    settled = undefined;
    standing();
    draw();
    alarm("moment", `That moment could not be shown: ${failure.message}.`);
  }
}

function follow() {
  let known;
  let last;
  const heard = async (event) => {
    const now = JSON.parse(event.data);
    const figures = [now.unread, now.unseen, now.total, now.newest, now.seenUpTo].join();
    const isNew = known === undefined ? now.unread !== moments.unread.at(-1) : figures !== known;
    known = figures;
    const before = last;
    last = now;
    if (!isNew || now.asOf <= moments.seqs.at(-1)) return;
    if (isLoaded) append(now.asOf, now.unread, now.unseen < before?.unseen && now.unread === before?.unread && now.total === before?.total);
    if (!isPresent) return draw();
    position = moments.seqs.length - 1;
    include(position);
    draw();
    // Who reads older items goes on reading them.
    if (new URL(location.href).searchParams.has("cursor")) return announce(`${now.unread} unread, ${now.unseen} unseen`);
    // An answer that a later one has overtaken is not shown.
    const asked = (shown = Symbol(now.asOf));
    try {
      const next = await page(address(null));
      if (asked !== shown) return;
      swap(next);
      alarm("tray", "");
    } catch (failure) {
      if (asked === shown) alarm("tray", `New events could not be shown: ${failure.message}.`);
    }
    announce(`${now.unread} unread, ${now.unseen} unseen`);
  };
  live(() => `${site}/data/users/${user}/live`, ["tray"], heard, (isLive) => {
    isConnected = isLive;
    standing();
  });
}

slide.addEventListener("input", () => show(Number(slide.value)));
function magnify(factor) {
  zoom(position, factor);
  draw();
}
find("[data-nearer]").addEventListener("click", () => magnify(0.5));
find("[data-wider]").addEventListener("click", () => magnify(2));
slide.addEventListener("keydown", (event) => {
  const factor = { "+": 0.5, "-": 2 }[event.key];
  if (!factor) return;
  event.preventDefault();
  magnify(factor);
});
for (const [selector, step] of [["[data-earlier]", -1], ["[data-later]", 1]]) {
  find(selector).addEventListener("click", (event) => {
    if (moments.seqs.length < 2) return;
    event.preventDefault();
    show(position + step);
  });
}
const answer = await fetch(`${root}/moments`).catch(() => ({ ok: false }));
if (answer.ok) {
  isLoaded = true;
  decode(new Uint8Array(await answer.arrayBuffer()));
  const at = Number(find("[data-now] b").textContent);
  position = positionOf(isPresent ? Number.MAX_SAFE_INTEGER : at);
  draw();
  addEventListener("resize", draw);
  // Paper has its own width and colours, and stretches what was drawn for the window.
  const print = () => {
    canvas.style.width = "720px";
    draw();
    canvas.style.width = "";
  };
  addEventListener("beforeprint", print);
  addEventListener("afterprint", draw);
  matchMedia("print").addEventListener("change", ({ matches }) => (matches ? print() : draw()));
  addEventListener("times", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  if (position > 0) tray(moments.seqs[position - 1]).catch(() => {});
  document.documentElement.dataset.moments = String(moments.seqs.length - 1);
} else {
  alarm("moments", "The history of this tray could not be loaded, so there is no slider. Use the field for an event or a time.");
}
follow();

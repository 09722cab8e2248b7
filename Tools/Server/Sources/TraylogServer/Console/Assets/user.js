// One tray at any moment: a slider over the user's events.

import { alarm, announce, colour, count, drawing, find, live, localize, page, site } from "./dom.js";

const panel = find("[data-moment]");
const user = panel.dataset.user;
const slide = find("#slide");
const canvas = find("[data-chart]");
const root = `${site}/users/${user}`;

/** The events of the user: position 0 is before the first one. */
const moments = { seqs: [0], unread: [0] };
let position = 0;
let isPresent = find("[data-present]").hidden;
const fetched = new Map();
let shown;
/** Whether the moments of this user are here: without them there is nothing to draw. */
let isLoaded = false;
let isConnected = false;
/** Position and presence of what the page shows, while another moment is on its way. */
let settled;

function decode(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  const [seqs, unread] = [[number()], [number()]];
  while (at < bytes.length) {
    seqs.push(seqs.at(-1) + number());
    const zigzag = number();
    unread.push(unread.at(-1) + (zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2));
  }
  return { seqs, unread };
}

/** The last position whose event is at or before a seq. */
function positionOf(seq) {
  let [low, high] = [0, moments.seqs.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (moments.seqs[middle] <= seq) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Past or live: never both, and the way back to now is there as soon as the past is shown. */
function standing() {
  panel.classList.toggle("is-past", !isPresent);
  find("[data-past]", panel).hidden = isPresent;
  find("[data-present]", panel).hidden = isPresent;
  find("[data-live]", panel).hidden = !isPresent || !isConnected;
}

function chart() {
  canvas.hidden = !isLoaded || moments.seqs.length < 2;
  if (canvas.hidden) return;
  const { context, width, height } = drawing(canvas);
  const { unread } = moments;
  const last = Math.max(1, unread.length - 1);
  const most = unread.reduce((a, b) => Math.max(a, b), 1);
  const [left, right, floor] = [18, width - 18, height - 12];
  const x = (index) => left + ((right - left) * index) / last;
  const y = (value) => floor - (value / most) * (floor - 8);
  context.beginPath();
  context.moveTo(left, floor);
  // The greatest and the least of each column, so that no peak is lost.
  const columns = Math.min(unread.length, Math.round(right - left));
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * unread.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * unread.length) / columns));
    let [low, high] = [Infinity, 0];
    for (let index = from; index < to; index += 1) {
      low = Math.min(low, unread[index]);
      high = Math.max(high, unread[index]);
    }
    context.lineTo(x(from), y(high));
    context.lineTo(x(to - 1), y(low));
  }
  context.lineTo(right, y(unread.at(-1)));
  context.lineTo(right, floor);
  context.closePath();
  context.fillStyle = colour("--accent-soft");
  context.fill();
  context.strokeStyle = colour("--accent-line");
  context.stroke();
  context.fillStyle = colour("--accent");
  context.fillRect(x(position) - 0.75, 4, 1.5, floor - 2);
  context.fillStyle = colour("--soft");
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const label = `most ${count(most)} unread`;
  if (width > 480 && unread.length > 1) context.fillText(label, left + 4, 14);
}

function address(at) {
  const asked = new URL(location.href);
  const view = asked.searchParams.get("view");
  const query = new URLSearchParams();
  if (at !== null) query.set("asOf", String(at));
  if (view) query.set("view", view);
  return query.size ? `${root}?${query}` : root;
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
  slide.value = String(position);
  slide.setAttribute("aria-valuetext", `event ${at}, ${moments.unread[position]} unread`);
  chart();
  try {
    const next = await (isPresent ? page(address(null)) : tray(at));
    if (asked !== shown) return;
    swap(next);
    alarm("moment", "");
    history.replaceState(null, "", address(isPresent ? null : at));
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
    slide.value = String(position);
    standing();
    chart();
    alarm("moment", `That moment could not be shown: ${failure.message}.`);
  }
}

function follow() {
  let known;
  const heard = async (event) => {
    const now = JSON.parse(event.data);
    const figures = [now.unread, now.unseen, now.total, now.newest, now.seenUpTo].join();
    const isNew = known === undefined ? now.unread !== moments.unread.at(-1) : figures !== known;
    known = figures;
    if (!isNew || now.asOf <= moments.seqs.at(-1)) return;
    if (isLoaded) {
      moments.seqs.push(now.asOf);
      moments.unread.push(now.unread);
      slide.max = String(moments.seqs.length - 1);
    }
    if (!isPresent) return chart();
    position = moments.seqs.length - 1;
    slide.value = slide.max;
    chart();
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
  Object.assign(moments, decode(new Uint8Array(await answer.arrayBuffer())));
  slide.max = String(moments.seqs.length - 1);
  const at = Number(find("[data-now] b").textContent);
  position = positionOf(isPresent ? Number.MAX_SAFE_INTEGER : at);
  slide.value = String(position);
  slide.setAttribute("aria-valuetext", `event ${moments.seqs[position]}, ${moments.unread[position]} unread`);
  find("[data-slider]").hidden = moments.seqs.length < 2;
  chart();
  addEventListener("resize", chart);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", chart);
  if (position > 0) tray(moments.seqs[position - 1]).catch(() => {});
  document.documentElement.dataset.moments = String(moments.seqs.length - 1);
} else {
  alarm("moments", "The history of this tray could not be loaded, so there is no slider. Use the field for an event or a time.");
}
follow();

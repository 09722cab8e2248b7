// What the pages' scripts share. Text enters the page as text only.

export const find = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];

/** Where the pages are: those of one partition, where there are several. */
export const { site } = document.body.dataset;

/** An element; children that are strings become text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const svg = "http://www.w3.org/2000/svg";

export function icon(name) {
  const drawing = document.createElementNS(svg, "svg");
  drawing.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(svg, "use");
  use.setAttribute("href", `${document.body.dataset.assets}/icons.svg#${name}`);
  drawing.append(use);
  return drawing;
}

const unseen = /[\u0000-\u0008\u000b-\u001f]|[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** A text with what would be invisible, or would turn the text around it, as the pages show it. */
export function visible(text) {
  return text.replaceAll(unseen, (character) => {
    const number = character.codePointAt(0);
    return number < 0x20 ? String.fromCodePoint(0x2400 + number) : `[U+${number.toString(16).toUpperCase()}]`;
  });
}

/** Says something to those who listen to the page. */
export function announce(text) {
  find("#announce").textContent = text;
}

const alarms = new Map();

/** Shows what went wrong on top of the page, until the same cause says that it is over with an empty text. */
export function alarm(cause, text) {
  if (text) alarms.set(cause, text);
  else alarms.delete(cause);
  const bar = find("#alarm");
  bar.textContent = [...alarms.values()].join(" ");
  bar.hidden = !alarms.size;
}

/** A page of the console as a document, which runs nothing. */
export function page(address, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.onload = () => {
      if (request.status === 200 && request.response) resolve(request.response);
      else reject(new Error(sentence(request.response) ?? `the server answered ${request.status}`));
    };
    request.onerror = () => reject(new Error("the server cannot be reached"));
    request.onabort = () => reject(new DOMException("left", "AbortError"));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.send();
  });
}

const sentence = (document) => document?.querySelector("[role=alert]")?.textContent;

/** JSON of the console or of the service. */
export async function json(address) {
  const answer = await asked(address, "application/json");
  return answer.json().catch(() => ({}));
}

/** The text at an address, such as a signed note. */
export const text = async (address) => (await asked(address, "text/plain")).text();

/** An answer; a problem is thrown, in its own words. */
async function asked(address, accept) {
  const answer = await fetch(address, { headers: { Accept: accept } });
  if (answer.ok) return answer;
  const value = await answer.json().catch(() => ({}));
  const failure = new Error(value.detail ?? `the server answered ${answer.status}`);
  failure.error = value.error;
  failure.status = answer.status;
  throw failure;
}

/** What is live, and goes on after it broke: calls back with each event of these names. */
export function live(address, names, heard, state = () => {}) {
  let source;
  let wait = 1000;
  const open = () => {
    source = new EventSource(address());
    source.onopen = () => {
      wait = 1000;
      alarm("live", "");
      state(true);
    };
    for (const name of names) source.addEventListener(name, heard);
    source.onerror = () => {
      source.close();
      state(false);
      alarm("live", `Connection lost: this page no longer updates. Trying again in ${Math.round(wait / 1000)} s.`);
      if (!document.hidden) setTimeout(open, wait);
      else document.addEventListener("visibilitychange", open, { once: true });
      wait = Math.min(wait * 2, 30000);
    };
  };
  open();
  addEventListener("pagehide", () => {
    source.onerror = null;
    source.close();
  });
}

const groups = new Intl.NumberFormat("en", { useGrouping: true });
export const count = (number) => groups.format(number);

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const pad = (number) => String(number).padStart(2, "0");

export function localTime(moment) {
  const day = `${moment.getFullYear()}-${pad(moment.getMonth() + 1)}-${pad(moment.getDate())}`;
  return `${day} ${pad(moment.getHours())}:${pad(moment.getMinutes())}:${pad(moment.getSeconds())}`;
}

export const utcTime = (moment) => moment.toISOString().slice(0, 19).replace("T", " ");

/** How times are shown: `relative` where they are new, `local`, or `utc`. */
export const timesMode = () => localStorage.getItem("traylog-times") ?? "relative";

/** `3 min ago`; nothing for what is a day ago, or to come. */
function ago(moment) {
  const seconds = (Date.now() - moment) / 1000;
  if (seconds < -5 || seconds >= 86400) return undefined;
  if (seconds < 60) return "just now";
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ago` : `${Math.floor(seconds / 3600)} h ago`;
}

/** Shows times as the reader chose; hovering says them exactly, in the browser's zone and in UTC. */
export function localize(root = document, isPaper = matchMedia("print").matches) {
  const mode = timesMode();
  for (const time of all("time[datetime]", root)) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const utc = `${time.dateTime.slice(0, 23).replace("T", " ").replace("Z", "")} UTC`;
    time.title = zone === "UTC" ? utc : `${localTime(moment)} ${zone}\n${utc}`;
    const isRelative = mode === "relative" && !isPaper && !("exact" in time.dataset);
    time.textContent = (isRelative && ago(moment)) || (mode === "utc" ? `${utcTime(moment)} UTC` : localTime(moment));
  }
}

export function sayZone() {
  find("[data-zone]").textContent = timesMode() === "utc" || zone === "UTC" ? "Times are UTC."
    : `Times are of the zone ${zone}; hold the pointer over one for UTC.`;
}

/** A colour of the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A canvas as sharp as the screen, in CSS pixels. */
export function drawing(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

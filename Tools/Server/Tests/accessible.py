"""Rules for pages that everybody can use (WCAG 2.2, AA), as one script that returns what breaks them; and axe-core's."""

import importlib.util
import pathlib


def axe():
    """The source of axe-core, which a package from PyPI carries; None without it."""
    found = importlib.util.find_spec("axe_core_python")
    path = found and pathlib.Path(found.origin).parent / "axe.min.js"
    return path.read_text() if path and path.exists() else None


def axe_findings(browser, *rules):
    """What axe-core finds in the page that is open: its rule, and the first element that breaks it. Without rules all are tried."""
    return browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; const rules = [...arguments].slice(0, -1);" + axe() + ";"
        "axe.run({ resultTypes: ['violations'], ...(rules.length && { runOnly: rules }) }).then((result) =>"
        "done(result.violations.map((one) => [one.id, one.nodes[0].html])), (error) => done([['failed', String(error)]]))", *rules)


RULES = r"""
const faults = [];
const fault = (rule, element, more = "") =>
  faults.push(`${rule}: ${element.outerHTML.slice(0, 160)} ${more}`);
const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
  && element.getClientRects().length > 0;
const all = (selector) => [...document.querySelectorAll(selector)];
const hidden = (element) => element.closest(".unseen-text, .skip, [aria-hidden=true]") !== null;

// Names: what a screen reader calls it.
function name(element) {
  const by = element.getAttribute("aria-labelledby");
  if (by) return by.split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
  if (element.getAttribute("aria-label")) return element.getAttribute("aria-label");
  if (element.labels?.length) return [...element.labels].map((label) => label.textContent).join(" ");
  return element.textContent || element.title || "";
}
for (const element of all("a, button, input:not([type=hidden]), select, textarea, [role=img], [role=region], canvas, progress")) {
  if (shown(element) && !name(element).trim()) fault("has no name", element);
}
for (const element of all("nav, section, form[role=search]")) {
  if (shown(element) && !element.getAttribute("aria-label") && !element.getAttribute("aria-labelledby")) fault("landmark without a name", element);
}
for (const drawing of all("svg")) if (drawing.getAttribute("aria-hidden") !== "true" && !drawing.getAttribute("aria-label") && !drawing.getAttribute("aria-labelledby")) fault("drawing that is read", drawing);

// Structure.
if (!document.documentElement.lang) faults.push("no language");
if (!document.title.trim()) faults.push("no title");
for (const [selector, count] of [["main", 1], ["h1", 1], ["[aria-live]#announce", 1]]) {
  if (all(selector).length !== count) faults.push(`${all(selector).length} of ${selector}`);
}
let level = 0;
for (const heading of all("h1, h2, h3, h4")) {
  if (!shown(heading)) continue;
  const next = Number(heading.tagName[1]);
  if (next > level + 1) fault("a level of headings is left out", heading);
  level = next;
}
const ids = new Set();
for (const element of all("[id]")) {
  if (ids.has(element.id)) fault("id twice", element);
  ids.add(element.id);
}
for (const attribute of ["for", "aria-labelledby", "aria-describedby", "aria-controls"]) {
  for (const element of all(`[${attribute}]`)) {
    for (const id of element.getAttribute(attribute).split(" ")) if (!ids.has(id)) fault(`${attribute} without an aim`, element);
  }
}
for (const table of all("table")) if (shown(table) && !table.querySelector("th")) fault("table without headers", table);
for (const element of all("[tabindex]")) if (element.tabIndex > 0) fault("order changed by tabindex", element);
for (const element of all("[role]")) {
  if (!["search", "region", "img", "status", "alert"].includes(element.getAttribute("role"))) fault("unknown role", element);
}
for (const element of all("ul, ol")) {
  for (const child of element.children) if (child.tagName !== "LI") fault("list with something else", element);
}

// What scrolls can be scrolled with the keyboard.
for (const element of all("main *")) {
  const style = getComputedStyle(element);
  const scrolls = /auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1
    || /auto|scroll/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 1;
  if (scrolls && shown(element) && element.tabIndex < 0 && !element.querySelector("a, button, input")) fault("scrolls, and takes no focus", element);
}

// Targets of 24 pixels, but links within a sentence.
for (const element of all("a[href], button, input:not([type=hidden]), select")) {
  if (!shown(element) || hidden(element)) continue;
  const { width, height } = element.getBoundingClientRect();
  if (width >= 23.5 && height >= 23.5) continue;
  const block = element.closest("p, dd, li, label, th");
  const isInline = getComputedStyle(element).display === "inline" && block && block.textContent.trim() !== element.textContent.trim();
  if (!isInline && !(element.tagName === "A" && getComputedStyle(element).display === "inline" && width >= 23.5)) {
    fault("target below 24 pixels", element, `${width} × ${height}`);
  }
}

// Contrast.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
function colour(text) {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function ground(element) {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const layer = colour(getComputedStyle(at).backgroundColor);
    layers.push(layer);
    if (layer[3] === 1) break;
  }
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}
const luminance = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
  const value = c[i] / 255;
  return sum + weight * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
}, 0);
function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const told = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !shown(element) || hidden(element)) continue;
  if (element.closest("[aria-disabled=true], :disabled, option, noscript")) continue;
  const style = getComputedStyle(element);
  const back = ground(element);
  const ratio = contrast(over(colour(style.color), back), back);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  const key = `${style.color} on ${back}`;
  if (ratio < (isLarge ? 3 : 4.5) && !told.has(key)) {
    told.add(key);
    fault(`contrast ${ratio.toFixed(2)}`, element, key);
  }
}
// The frame of a field against what is around it.
for (const element of all("input:not([type=hidden]):not([type=range]):not([type=checkbox]), select")) {
  if (!shown(element)) continue;
  const back = ground(element.parentElement);
  if (contrast(over(colour(getComputedStyle(element).borderTopColor), back), back) < 3) fault("frame of a field below 3:1", element);
}
if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is wider (${document.documentElement.scrollWidth}) than the window`);
return faults;
"""

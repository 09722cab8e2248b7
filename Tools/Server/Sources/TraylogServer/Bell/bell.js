// <traylog-bell>: a button with a number, and its panel. Text enters the page as text only.

import { TrayClient, TrayProblem } from "./client.js";
export { TrayClient, TrayProblem };

const STRINGS = {
	en: {
		title: "Notifications", unseen: "{n} new", count: "{n} unread", nothing: "nothing new", inbox: "Inbox", unread: "Unread",
		archived: "Archived", close: "Close", back: "Back", markAll: "Mark all as read ({n})", marked: "{n} marked as read.",
		done: "Done.", undo: "Undo", loading: "Loading…", empty: "Nothing here.", emptyUnread: "Everything is read.",
		end: "That is all.", offline: "Offline.", asOf: "Offline. As of {time}.", refused: "Your access expired. Sign in again.",
		failed: "Loading failed.", wrong: "Not set up: {what} is no address.", retry: "Try again", menu: "More: {title}", read: "Mark as read", unreadAgain: "Mark as unread",
		archive: "Archive", unarchive: "Unarchive", snooze: "Snooze", hour: "1 hour", evening: "This evening", tomorrow: "Tomorrow",
		week: "Next week", date: "Until a date…", mute: "Mute this thread", delete: "Delete", search: "Search", quiet: "Do not disturb", always: "Until I turn it off", critical: "Critical",
		timeSensitive: "Urgent", more: { one: "{n} more notification", other: "{n} more notifications" },
		by: "{more} from {names}", others: "{n} others",
	},
	de: {
		title: "Mitteilungen", unseen: "{n} neu", count: "{n} ungelesen", nothing: "nichts Neues", inbox: "Eingang", unread: "Ungelesen",
		archived: "Archiv", close: "Schließen", back: "Zurück", markAll: "Alle als gelesen markieren ({n})", marked: "{n} als gelesen markiert.",
		done: "Erledigt.", undo: "Rückgängig", loading: "Lädt …", empty: "Nichts da.", emptyUnread: "Alles ist gelesen.",
		end: "Das ist alles.", offline: "Offline.", asOf: "Offline. Stand: {time}.", refused: "Zugang abgelaufen. Bitte neu anmelden.",
		failed: "Laden misslungen.", wrong: "Nicht eingerichtet: {what} ist keine Adresse.", retry: "Noch einmal", menu: "Mehr: {title}", read: "Als gelesen markieren", unreadAgain: "Als ungelesen markieren",
		archive: "Archivieren", unarchive: "Zurückholen", snooze: "Später", hour: "1 Stunde", evening: "Heute Abend", tomorrow: "Morgen",
		week: "Nächste Woche", date: "Bis zum …", mute: "Thema stummschalten", delete: "Löschen", search: "Suchen", quiet: "Nicht stören", always: "Bis auf Weiteres", critical: "Kritisch",
		timeSensitive: "Dringend", more: { one: "{n} weitere Mitteilung", other: "{n} weitere Mitteilungen" },
		by: "{more} von {names}", others: "{n} weiteren",
	},
};

const STYLE = new CSSStyleSheet();
STYLE.replaceSync(`
:host { display: inline-block; color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif;
	--tl-ink: light-dark(#1b1f24, #e8eaed); --tl-soft: light-dark(#59616b, #a9b1ba);
	--tl-paper: light-dark(#fff, #1d2125); --tl-line: light-dark(#d5dae0, #3c434b);
	--tl-hover: light-dark(#f2f4f7, #2a3036); --tl-accent: light-dark(#0b57d0, #8ab4f8);
	--tl-badge: #c5221f; --tl-radius: 12px }
:host([hidden]), [hidden] { display: none !important }
:host([theme=light]) { color-scheme: light }
:host([theme=dark]) { color-scheme: dark }
* { box-sizing: border-box }
button, input { font: inherit; color: inherit; border-radius: 6px }
button { background: none; border: 0; padding: 6px 8px; cursor: pointer }
button:hover, article:hover { background: var(--tl-hover) }
:focus-visible { outline: 2px solid var(--tl-accent); outline-offset: -2px }
.bell { position: relative; padding: 8px; min-width: 40px; min-height: 40px; line-height: 0 }
svg { width: 24px; height: 24px; fill: none; stroke: currentColor; stroke-width: 1.8 }
.badge { position: absolute; top: 0; inset-inline-start: 20px; min-width: 18px; padding: 0 5px; border: 1px solid transparent;
	border-radius: 9px; background: var(--tl-badge); color: #fff; font-size: 11px; line-height: 16px; font-weight: 600 }
.away { position: absolute; width: 1px; height: 1px; overflow: hidden; margin: 0; opacity: 0 }
[popover] { position: fixed; inset: auto; margin: 0; padding: 0; color: var(--tl-ink); background: var(--tl-paper); text-align: start;
	border: 1px solid var(--tl-line); border-radius: var(--tl-radius); box-shadow: 0 8px 28px #0004 }
.panel { width: var(--tl-width, 400px); max-width: 100vw; height: min(600px, 100dvh); overflow: hidden }
.panel:popover-open { display: flex; flex-direction: column }
input { border: 1px solid; padding: 4px 8px; background: none }
.header, .tabs, .toast, .banner { display: flex; align-items: center; gap: 4px; padding: 8px 12px; flex: none }
.tabs { padding-block: 0; border-bottom: 1px solid var(--tl-line); overflow-x: auto }
[role=tab] { border-radius: 0; border-bottom: 2px solid transparent; white-space: nowrap; color: var(--tl-soft) }
[role=tab][aria-selected=true] { border-color: var(--tl-accent); color: var(--tl-ink); font-weight: 600 }
.banner { background: var(--tl-hover); border-bottom: 1px solid var(--tl-line) }
b, bdi, input { flex: 1; min-width: 0 }
[aria-pressed=true] { background: var(--tl-accent); color: var(--tl-paper) }
.body { flex: 1; overflow: hidden auto }
.bar { text-align: end; padding: 4px }
.link { color: var(--tl-accent) }
.new { position: sticky; top: 6px; z-index: 1; display: block; margin: 6px auto -38px; background: var(--tl-ink); color: var(--tl-paper) }
article { position: relative; display: grid; grid-template-columns: 1fr auto; gap: 2px 8px; cursor: pointer; padding-block: 10px;
	padding-inline: 26px 8px; border-bottom: 1px solid var(--tl-line); overflow-wrap: anywhere; content-visibility: auto; contain-intrinsic-size: auto 76px }
.dot { position: absolute; inset-inline-start: 10px; top: 17px; border: 4px solid var(--tl-accent); border-radius: 50% }
.title, .text, .meta { grid-column: 1; unicode-bidi: isolate; white-space: pre-line }
.unread .title { font-weight: 600 }
a.title { color: inherit; text-decoration: none; -webkit-user-select: text; user-select: text }
.text { color: var(--tl-soft); display: -webkit-box; -webkit-line-clamp: 3; -webkit-box-orient: vertical; overflow: hidden }
.meta { color: var(--tl-soft); font-size: 12px }
.level { border: 1px solid; border-radius: 4px; padding: 0 4px; margin-inline-end: 6px; font-weight: 600; color: var(--tl-ink) }
button.level { margin-block: 4px; padding: 4px 10px }
.dots { grid-column: 2; grid-row: 1 / 4; align-self: start; min-width: 32px }
.more { grid-column: 1; justify-self: start; padding-inline: 0 }
.note { padding: 20px; text-align: center; color: var(--tl-soft); margin: 0 }
.bone { height: 12px; margin: 32px 26px; border-radius: 6px; background: var(--tl-line) }
.toast { border-top: 1px solid var(--tl-line) }
.menu { padding: 4px }
.menu button { display: block; width: 100%; text-align: start }
@media (max-width: 479px) { .panel { inset: 0 !important; width: 100%; height: 100%; max-height: none !important; border: 0; border-radius: 0 } }
`);

const SVG = "http://www.w3.org/2000/svg";
const UNITS = [["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60]];

function h(name, attributes = {}, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) {
		if (typeof value === "function") made.addEventListener(key, value);
		else if (value === true) made.setAttribute(key, "");
		else if (value != null && value !== false) made.setAttribute(key, value);
	}
	made.append(...children.flat().filter((child) => child != null && child !== false));
	return made;
}

const button = (click, attributes, ...children) => h("button", { type: "button", click, ...attributes }, ...children);

function drawing() {
	const svg = document.createElementNS(SVG, "svg");
	const path = document.createElementNS(SVG, "path");
	svg.setAttribute("viewBox", "0 0 24 24");
	svg.setAttribute("aria-hidden", "true");
	path.setAttribute("d", "M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7M10 20a2 2 0 0 0 4 0");
	svg.append(path);
	return svg;
}

// A tag that Intl knows, for any that a page may have; English for one that names no language.
function language(tag) {
	try {
		return Intl.DateTimeFormat.supportedLocalesOf(tag.replaceAll("_", "-").replace(/[^\w-].*/s, ""))[0] ?? "en";
	} catch {
		return "en";
	}
}

// One number before the page's title and on the app's icon: of all bells, each person counted once.
const shown = new Map();
const prefixes = new Set();
let titles;

const total = () => Object.values(Object.fromEntries(shown.values())).reduce((sum, n) => sum + n, 0);

function entitle() {
	const n = total();
	const { title } = document;
	const [found] = title.match(/^\(\d+\) ?/) ?? [""];
	const plain = prefixes.has(found.trim()) ? title.slice(found.length) : title;
	const prefix = n ? `(${n}) ` : "";
	prefixes.add(prefix.trim());
	if (title !== (prefix + plain).trim()) document.title = prefix + plain;
	if (titles) return;
	// A router sets it, too. Not at once, so that two who disagree about it leave the page running.
	titles = new MutationObserver(() => setTimeout(entitle, 100));
	titles.observe(document.head, { childList: true, characterData: true, subtree: true });
}

function safeLink(url, origins = []) {
	if (typeof url !== "string" || /[\u0000-\u0020\u007f-\u009f\\]/.test(url)) return null;
	if (/^\/(?!\/)/.test(url)) origins = [location.origin];
	else if (!/^https:\/\/[^/?#@]+([/?#]|$)/i.test(url)) return null;
	try {
		const { origin, href } = new URL(url, location.origin);
		return origins.includes(origin) ? href : null;
	} catch {
		return null;
	}
}

function steps(event, elements, from, next = "ArrowDown", last = "ArrowUp") {
	const at = elements.indexOf(from);
	const to = { [next]: at + 1, [last]: at - 1, PageDown: at + 5, PageUp: at - 5, Home: 0, End: Infinity }[event.key];
	if (to === undefined) return;
	event.preventDefault();
	return elements[Math.max(0, Math.min(to, elements.length - 1))];
}

class Groups {
	items = [];
	end = false;
	waiting = 0;
	loaded = false;
	#client;
	#done;
	#cursor;

	constructor(client, done) {
		this.#client = client;
		this.#done = done;
	}

	async #load(cursor) {
		const page = await this.#client.threads({ limit: 50, cursor });
		const fresh = page.threads.map(({ newest, more, names }) => ({ ...newest, group: { more, names } }));
		this.items = cursor ? [...this.items, ...fresh] : fresh;
		this.#cursor = page.next;
		this.end = !page.next;
		this.loaded = true;
		this.#done();
	}

	loadMore() {
		return this.end ? Promise.resolve() : this.#load(this.#cursor);
	}

	refresh() {
		return this.#load();
	}
}

class TraylogBell extends HTMLElement {
	static observedAttributes = ["server", "user", "token-url", "lang", "count", "tabs", "group", "badge", "page-title"];

	renderItem = null;
	#root = this.attachShadow({ mode: "open" });
	#parts = {};
	#places = new CSSStyleSheet();
	#language = "en";
	#languages = new MutationObserver(() => this.#said !== this.#language && this.#build());
	#given = null;
	#wrong = "";
	#own = {};
	#client = null;
	#watch = null;
	#tab = 0;
	#thread;
	#list = null;
	#nodes = new Map();
	#active = 0;
	#failed = null;
	#isLoading = false;
	#wantsSee = false;
	#asOf = null;
	#told = 0;
	#timers = {};
	#opener;
	#pressed = {};
	#frame = 0;

	get client() {
		return this.#client;
	}

	set client(client) {
		this.#given = client;
		this.#restart();
	}

	set strings(strings) {
		this.#own = strings ?? {};
		this.#build();
	}

	get strings() {
		return { ...STRINGS.en, ...STRINGS[this.#language.split("-")[0]], ...this.#own };
	}

	get #said() {
		return language(this.closest("[lang]")?.lang || document.documentElement.lang);
	}

	get #now() {
		return this.#client?.now ?? Date.now();
	}

	connectedCallback() {
		// Rules of its own in place of style attributes, which a strict page does without.
		this.#places.replaceSync(".panel {} .menu {}");
		this.#root.adoptedStyleSheets = [STYLE, this.#places];
		this.#languages.observe(document.documentElement, { attributeFilter: ["lang"] });
		this.#restart();
	}

	disconnectedCallback() {
		this.#end();
		for (const timer of Object.values(this.#timers)) clearTimeout(timer);
		this.#timers = {};
		this.#languages.disconnect();
		this.#entitle(0);
	}

	attributeChangedCallback(name, old, value) {
		if (!this.isConnected || old === value || !this.#parts.button) return;
		if (["server", "user", "token-url"].includes(name)) this.#restart();
		else this.#build();
	}

	open() {
		this.#parts.panel?.showPopover();
	}

	close() {
		this.#parts.panel?.hidePopover();
	}

	#end() {
		this.#watch?.abort();
		if (this.#client && this.#client !== this.#given) this.#client.stop();
		this.#list?.close?.();
		this.#client = this.#list = null;
	}

	#restart() {
		if (!this.isConnected) return;
		this.#end();
		this.#asOf = null;
		this.#told = 0;
		this.#wrong = "";
		this.#client = this.#given ?? this.#make();
		const client = this.#client;
		if (client) {
			this.#watch = new AbortController();
			const { signal } = this.#watch;
			client.addEventListener("tray", () => this.#onTray(), { signal });
			client.addEventListener("state", () => this.#onState(), { signal });
			client.addEventListener("items", ({ detail }) => detail === this.#list && this.#draw(), { signal });
			client.addEventListener("problem", ({ detail }) => this.#toast(detail.detail), { signal });
			client.addEventListener("user", () => this.#given || this.#restart(), { signal });
			addEventListener("resize", () => this.#isOpen && this.#place(), { signal });
			client.start();
		}
		// Nothing of the person before stays.
		this.#build();
	}

	// Null for addresses that are none: the panel says so.
	#make() {
		const [server, user, url] = ["server", "user", "token-url"].map((name) => this.getAttribute(name));
		try {
			this.#wrong = "server";
			const client = new TrayClient({ server, user, token: () => this.#ask(url) });
			this.#wrong = "token-url";
			new URL(url || "//", document.baseURI);
			this.#wrong = "";
			return client;
		} catch {
			return null;
		}
	}

	async #ask(url) {
		const get = (redirect) => fetch(url, {
			credentials: "same-origin", cache: "no-store", redirect, signal: AbortSignal.timeout(15_000),
		});
		let answer = await get("manual");
		// To where people sign in, often of another origin, which must not be read.
		if (answer.type === "opaqueredirect") answer = await get("follow").catch(() => ({ status: 401 }));
		const { ok, status } = answer;
		if (!ok) throw new TrayProblem({ status: status < 500 && status !== 429 ? 401 : status });
		return (await answer.json())?.token;
	}

	#say(name, values = {}) {
		let text = this.strings[name] ?? "";
		if (typeof text === "object") text = text[new Intl.PluralRules(this.#language).select(values.n)] ?? text.other;
		return text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
	}

	#relative(moment) {
		// What is here is never ahead, whatever the clocks say.
		const seconds = Math.min(0, moment - this.#now) / 1000;
		const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 60];
		return new Intl.RelativeTimeFormat(this.#language, { numeric: "auto" }).format(Math.trunc(seconds / size), unit);
	}

	#summary({ more, names = [] }) {
		const said = this.#say("more", { n: more });
		if (!names.length) return said;
		const shown = names.length > 3 ? [...names.slice(0, 2), this.#say("others", { n: names.length - 2 })] : names;
		return this.#say("by", { more: said, names: new Intl.ListFormat(this.#language.replace(/^en\b.*/, "en-GB")).format(shown) });
	}

	get #isOpen() {
		return this.#parts.panel?.matches(":popover-open") ?? false;
	}

	get #tabs() {
		const own = (this.getAttribute("tabs") ?? "").split(";").filter((text) => text.includes(":")).map((text) => {
			const [label, names] = text.split(/:(.*)/s);
			return { label: label.trim(), filter: { category: names.split(",").map((name) => name.trim()).filter(Boolean) } };
		});
		return [
			{ label: this.#say("inbox"), filter: {} },
			{ label: this.#say("unread"), empty: "emptyUnread", filter: { unread: true } },
			{ label: this.#say("archived"), filter: { view: "archived" } },
			...own,
		];
	}

	#build() {
		if (!this.isConnected) return;
		const wasOpen = this.#isOpen;
		this.#language = this.#said;
		const p = (this.#parts = {});
		p.search = h("input", {
			type: "search", part: "search", "aria-label": this.#say("search"), placeholder: this.#say("search"), maxlength: 200,
			input: () => {
				clearTimeout(this.#timers.search);
				this.#timers.search = setTimeout(() => this.#open(), 300);
			},
		});
		p.quiet = button(() => this.#hush(), {
			part: "quiet", title: this.#say("quiet"), "aria-label": this.#say("quiet"), "aria-pressed": "false" }, "☾");
		p.badge = h("span", { class: "badge", part: "badge", "aria-hidden": "true" });
		p.button = button(null, { class: "bell", part: "button", "aria-haspopup": "dialog", "aria-expanded": "false" },
			h("slot", { name: "icon" }, drawing()), p.badge);
		p.live = h("p", { class: "away", role: "status" });
		p.tabs = h("div", { class: "tabs", part: "tabs", role: "tablist", keydown: (event) => this.#turn(event) },
			this.#tabs.map((tab, index) => button(() => this.#select(index), {
				role: "tab", part: "tab", id: `tab${index}`, "aria-controls": "body" }, tab.label)));
		p.banner = h("div", { class: "banner", part: "banner", hidden: true });
		p.fresh = button(() => this.#showNew(), { class: "new", hidden: true });
		p.back = button(() => this.#openThread(), { class: "link", hidden: true }, this.#say("back"));
		p.all = button(() => this.#markAll(), { class: "link", part: "mark-all" });
		p.feed = h("div", { role: "feed", part: "list", "aria-label": this.#say("title"), keydown: (event) => this.#move(event) });
		p.note = h("div", { part: "note" });
		p.body = h("div", { class: "body", id: "body", role: "tabpanel", scroll: () => this.#scrolled() },
			p.fresh, h("div", { class: "bar" }, p.back, p.all), p.feed, p.note);
		p.toast = h("div", { class: "toast", part: "toast", role: "status", hidden: true });
		p.menu = h("div", { class: "menu", part: "menu", popover: "auto", role: "menu", keydown: (event) => this.#step(event) });
		p.panel = h("div", {
			class: "panel", part: "panel", role: "dialog", popover: "auto", "aria-labelledby": "name", tabindex: "-1",
			beforetoggle: (event) => event.target === p.panel && this.#toggled(event.newState === "open"),
			toggle: ({ target, newState }) => {
				if (target !== p.panel) return;
				if (newState === "open") this.#place(), this.#selected.focus();
				else if ([this, document.body].includes(document.activeElement)) p.button.focus();
			},
		}, h("div", { class: "header", part: "header" }, h("b", { id: "name" }, this.#say("title")), p.search, p.quiet,
			button(() => this.close(), { "aria-label": this.#say("close") }, "✕")),
		p.tabs, p.banner, p.body, p.toast, p.menu);
		p.button.popoverTargetElement = p.panel;
		this.#nodes.clear();
		this.#root.replaceChildren(p.button, p.panel, p.live);
		this.#onTray();
		if (wasOpen) this.open();
	}

	#toggled(isOpen) {
		const p = this.#parts;
		p.button.ariaExpanded = isOpen;
		clearInterval(this.#timers.clock);
		if (!isOpen) return;
		this.#timers.clock = setInterval(() => {
			for (const time of p.feed.querySelectorAll("time")) time.textContent = this.#relative(new Date(time.dateTime));
		}, 30_000);
		this.#thread = undefined;
		p.search.value = "";
		this.#select(this.#tab);
		this.#onState();
		this.#showQuiet();
		this.#wantsSee = !this.#client?.tray;
		if (!this.#wantsSee) this.#try(this.#client?.see());
	}

	get #isRtl() {
		return getComputedStyle(this).direction === "rtl";
	}

	#align(popover, button, style) {
		const { left, right, bottom } = button.getBoundingClientRect();
		const width = popover.offsetWidth;
		const start = this.#isRtl ? left : right - width;
		style.left = `${Math.max(0, Math.min(start, document.documentElement.clientWidth - width))}px`;
		return bottom;
	}

	#place() {
		const { button, panel } = this.#parts;
		const [{ style }] = this.#places.cssRules;
		const bottom = this.#align(panel, button, style) + 6;
		const isBelow = bottom < innerHeight * 0.6;
		const space = isBelow ? bottom : innerHeight - bottom + 12 + button.offsetHeight;
		style.top = isBelow ? `${space}px` : "auto";
		style.bottom = isBelow ? "auto" : `${space}px`;
		style.maxHeight = `${innerHeight - space - 8}px`;
	}

	get #selected() {
		return this.#parts.tabs.children[this.#tab];
	}

	#select(index) {
		this.#tab = Math.min(index, this.#tabs.length - 1);
		[...this.#parts.tabs.children].forEach((tab, at) => {
			tab.ariaSelected = at === this.#tab;
			tab.tabIndex = at === this.#tab ? 0 : -1;
		});
		this.#parts.body.setAttribute("aria-labelledby", this.#selected.id);
		this.#open();
	}

	#turn(event) {
		const tabs = [...this.#parts.tabs.children];
		const [next, last] = this.#isRtl ? ["ArrowLeft", "ArrowRight"] : ["ArrowRight", "ArrowLeft"];
		const to = steps(event, tabs, this.#selected, next, last);
		if (!to) return;
		this.#select(tabs.indexOf(to));
		to.focus();
	}

	#openThread(thread) {
		this.#thread = thread;
		this.#open();
		this.#selected.focus();
	}

	#open() {
		this.#list?.close?.();
		this.#list = null;
		this.#active = 0;
		this.#failed = null;
		this.#nodes.clear();
		this.#parts.feed.replaceChildren();
		this.#parts.body.scrollTop = 0;
		if (this.#client) {
			const { filter } = this.#tabs[this.#tab];
			const text = this.#parts.search.value.trim();
			const isGrouped = !text && this.hasAttribute("group") && this.#tab === 0;
			if (isGrouped && this.#thread === undefined) this.#list = new Groups(this.#client, () => this.#draw());
			else this.#list = this.#client.inbox({ pageSize: 30, ...filter, text, ...(isGrouped && { thread: this.#thread }) });
			this.#load();
		}
		this.#draw();
	}

	async #load(isAnew = false) {
		const list = this.#list;
		if (!list || this.#isLoading === list) return;
		this.#isLoading = list;
		this.#failed = null;
		clearTimeout(this.#timers.loading);
		this.#timers.loading = setTimeout(() => {
			if (this.#isLoading !== list || list.loaded) return;
			this.#failed = true;
			this.#draw();
		}, 6000);
		try {
			await (isAnew ? list.refresh() : list.loadMore());
		} catch (problem) {
			if (list === this.#list) this.#failed = problem;
		}
		if (list !== this.#list) return;
		this.#isLoading = false;
		this.#draw();
	}

	#draw() {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0;
			this.#drawList();
		});
	}

	#drawList() {
		const { feed, note, fresh, back, body } = this.#parts;
		const list = this.#list;
		const items = list?.items ?? [];
		const wanted = new Set(items.map((item) => item.seq));
		const focused = this.#root.activeElement?.closest("article");
		const place = [...feed.children].indexOf(focused);
		for (const [seq, { node }] of this.#nodes) {
			if (wanted.has(seq)) continue;
			node.remove();
			this.#nodes.delete(seq);
		}
		let at = feed.firstChild;
		for (const item of items) {
			const node = this.#node(item);
			if (node === at) at = at.nextSibling;
			else feed.insertBefore(node, at);
		}
		feed.hidden = !items.length;
		back.hidden = this.#thread === undefined;
		fresh.hidden = !list?.waiting;
		fresh.textContent = this.#say("unseen", { n: list?.waiting });
		if (focused && !focused.isConnected) this.#focus(feed.children[Math.min(place, feed.children.length - 1)] ?? this.#selected);
		else this.#rove();
		note.replaceChildren(...this.#notes(list, items));
		if (list?.loaded && !list.end && !this.#failed && body.scrollHeight <= body.clientHeight + 200) this.#load();
	}

	#notes(list, items) {
		const text = (name, values) => h("p", { class: "note" }, this.#say(name, values));
		if (this.#wrong) return [text("wrong", { what: `${this.#wrong}="${this.getAttribute(this.#wrong) ?? ""}"` })];
		if (this.#failed) {
			return [text("failed"), this.#parts.banner.hidden && h("p", { class: "note" }, this.#again())].filter(Boolean);
		}
		if (list && !list.loaded) {
			return [h("p", { class: "away" }, this.#say("loading")), ...[1, 2, 3].map(() => h("div", { class: "bone" }))];
		}
		if (items.length) return list.end ? [text("end")] : [];
		return [h("slot", { name: "empty" }, text(this.#tabs[this.#tab].empty ?? "empty"))];
	}

	#again() {
		return button(() => {
			this.#client?.retry();
			this.#isLoading = false;
			this.#load(this.#list?.loaded);
			this.#draw();
		}, { class: "link" }, this.#say("retry"));
	}

	#node(item) {
		const known = this.#nodes.get(item.seq);
		if (known?.item === item) return known.node;
		const node = known?.node ?? h("article", {
			tabindex: "-1", part: "item", click: (event) => this.#click(event), auxclick: (event) => this.#click(event),
			pointerdown: (event) => (this.#pressed = event),
			// Or the page would begin to scroll.
			mousedown: (event) => event.button === 1 && this.#link(item) && event.preventDefault(),
		});
		node.seq = item.seq;
		const focused = node.contains(this.#root.activeElement) && this.#root.activeElement;
		const title = item.title || item.body?.split("\n")[0] || this.#say("title");
		const level = this.strings[item.level];
		node.className = item.read ? "" : "unread";
		node.setAttribute("aria-labelledby", `title${item.seq}`);
		const moment = new Date(item.occurredAt ?? item.recordedAt);
		const drawn = this.renderItem?.(item);
		const href = this.#link(item);
		const dots = button((event) => this.#openMenu(item.seq, event.currentTarget), {
			class: "dots", "aria-haspopup": "menu", "aria-label": this.#say("menu", { title }), tabindex: node.tabIndex,
		}, "⋯");
		node.replaceChildren(...[
			!item.read && h("span", { class: "dot" }),
			h(href ? "a" : "div", {
				class: drawn ? "away" : "title", part: "title", id: `title${item.seq}`, dir: "auto",
				...(href && { href, tabindex: "-1", draggable: "false" }),
			}, title),
			drawn ?? [
				item.title && item.body && h("div", { class: "text", part: "body", dir: "auto" }, item.body),
				h("div", { class: "meta", part: "meta" },
					level && h("span", { class: "level", part: "level" }, level),
					h("time", { datetime: moment.toISOString(), title: moment.toLocaleString(this.#language) }, this.#relative(moment)),
					!item.read && h("span", { class: "away" }, ` ${this.#say("unread")}`)),
			],
			item.actions && h("div", { class: "meta", part: "actions" }, item.actions.map(({ id, label }) => item.outcome
				? id === item.outcome.action && h("span", { class: "level", part: "outcome" }, `✓ ${label}`)
				: button(() => this.#try(this.#client.act(item.seq, id)), { class: "level", part: "action", tabindex: node.tabIndex }, label))),
			item.group?.more > 0 && button(() => this.#openThread(item.thread ?? null), { class: "link more" }, this.#summary(item.group)),
			dots,
		].flat().filter(Boolean));
		this.#nodes.set(item.seq, { item, node });
		const same = (one) => one === dots || one.textContent === focused.textContent;
		// A node that an app's `renderItem` returns again loses the focus when it is inserted.
		if (focused) (focused.isConnected ? focused : [...node.querySelectorAll("button, a")].find(same) ?? node).focus();
		return node;
	}

	#scrolled() {
		const { body } = this.#parts;
		if (!this.#list) return;
		this.#list.hold = body.scrollTop > 40;
		if (!this.#list.hold && this.#list.waiting) this.#list.showNew();
		if (this.#list.loaded && !this.#failed && body.scrollTop + body.clientHeight * 2 > body.scrollHeight && !this.#list.end) this.#load();
	}

	#showNew() {
		this.#parts.body.scrollTop = 0;
		this.#list.hold = false;
		this.#list.showNew();
		this.#drawList();
		this.#focus(this.#parts.feed.firstChild);
	}

	// Tab reaches one article.
	#rove() {
		const articles = [...this.#parts.feed.children];
		const active = this.#nodes.get(this.#active)?.node ?? articles[0];
		for (const node of articles) {
			const index = node === active ? 0 : -1;
			if (node.tabIndex === index) continue;
			node.tabIndex = index;
			for (const button of node.querySelectorAll("button")) button.tabIndex = index;
		}
	}

	#focus(node) {
		this.#active = node?.seq ?? this.#active;
		this.#rove();
		node?.focus();
	}

	#move(event) {
		const node = event.target.closest("article");
		if (event.key === "Enter" && event.target === node) {
			event.preventDefault();
			return this.#visit(node.seq, event.ctrlKey || event.metaKey);
		}
		this.#focus(steps(event, [...this.#parts.feed.children], node));
	}

	async #try(promise) {
		const result = await Promise.resolve(promise).catch(() => null);
		if (result && this.#list instanceof Groups) this.#list.refresh().catch(() => {});
		return result;
	}

	#link({ data }) {
		return safeLink(data?.url, (this.getAttribute("link-origins") ?? "").split(/\s+/));
	}

	#click(event) {
		const { currentTarget: node, button, clientX, clientY } = event;
		const from = event.detail ? this.#pressed : event;
		const hit = event.composedPath().find(({ localName }) => /^(article|button|a)$/.test(localName));
		const isLink = hit.id === `title${node.seq}`;
		if (button > 1 || !(isLink || hit.localName === "article")) return;
		// Selecting text is no click.
		const isDrag = Math.hypot(clientX - from.clientX, clientY - from.clientY) > 5;
		const isElsewhere = button || event.ctrlKey || event.metaKey || event.shiftKey;
		// The browser opens what it has as a link.
		if (isDrag || !isElsewhere || !isLink) event.preventDefault();
		if (!isDrag) this.#visit(node.seq, isElsewhere, isLink, button);
	}

	async #visit(seq, isElsewhere, isOpened, button) {
		const { group, ...item } = this.#nodes.get(seq).item;
		const link = this.#link(item);
		if (button && !link) return;
		const marked = item.read ? null : this.#try(this.#client.mark("read", seq));
		if (isElsewhere && link) return isOpened || window.open(link, "_blank", "noopener");
		const isOn = this.dispatchEvent(new CustomEvent("traylog-open", { bubbles: true, composed: true, cancelable: true, detail: item }));
		if (!isOn) return;
		if (!link) return;
		await Promise.race([marked, new Promise((go) => setTimeout(go, 1000))]);
		location.assign(link);
	}

	async #markAll() {
		const { client } = this;
		const n = client.tray.unread;
		const result = await this.#try(client.markAll("read"));
		if (result?.seq && client === this.#client) this.#toast(this.#say("marked", { n }), () => client.undo(result.seq));
	}

	#toast(text, undo) {
		const { toast } = this.#parts;
		clearTimeout(this.#timers.toast);
		const hide = () => {
			const hadFocus = toast.contains(this.#root.activeElement);
			toast.hidden = true;
			if (hadFocus) this.#selected.focus();
		};
		toast.hidden = false;
		toast.replaceChildren(h("bdi", {}, text));
		if (undo) toast.append(button(() => (hide(), this.#try(undo())), { class: "link", part: "undo" }, this.#say("undo")));
		this.#timers.toast = setTimeout(hide, 10_000);
	}

	#openMenu(seq, opener) {
		const { item } = this.#nodes.get(seq);
		const { client } = this;
		const act = async (work, undo) => {
			const result = await this.#try(work);
			if (result?.seq && undo && client === this.#client) this.#toast(this.#say("done"), () => undo(result.seq));
		};
		const mark = (as, canUndo) => () => act(client.mark(as, seq), canUndo && ((event) => client.undo(event)));
		const snooze = (until) => act(client.snooze(seq, until), () => client.wake(seq));
		const { thread } = item;
		const mute = () => act(client.mute({ thread }), () => client.unmute({ thread }));
		const pick = () => {
			const { menu } = this.#parts;
			const input = h("input", { type: "datetime-local" });
			const done = () => new Date(input.value) > this.#now && (this.#closeMenu(), snooze(input.value));
			menu.role = "group";
			menu.replaceChildren(h("label", {}, this.#say("date"), " ", input), button(done, {}, this.#say("snooze")));
			input.focus();
		};
		const later = () => this.#offer([
			...this.#times(snooze),
			["week", () => snooze(this.#day(((8 - this.#day(0, 9).getDay()) % 7) || 7, 9))],
			["date", pick, true],
		]);
		this.#showMenu(opener, [
			item.read ? ["unreadAgain", mark("unread")] : ["read", mark("read")],
			item.archived ? ["unarchive", mark("unarchived")] : ["archive", mark("archived", true)],
			["snooze", later, true],
			thread && ["mute", mute],
			["delete", mark("deleted", true)],
		]);
	}

	#showMenu(opener, entries) {
		const { menu } = this.#parts;
		this.#opener = opener;
		menu.role = "menu";
		menu.ariaLabel = opener.ariaLabel;
		menu.showPopover();
		this.#offer(entries);
		const { style } = this.#places.cssRules[1];
		const bottom = this.#align(menu, opener, style);
		style.top = `${Math.max(0, Math.min(bottom, innerHeight - menu.offsetHeight))}px`;
	}

	#offer(entries) {
		const { menu } = this.#parts;
		menu.replaceChildren(...entries.filter(Boolean).map(([name, work, stays]) => button(() => (stays || this.#closeMenu(), work()), {
			role: "menuitem", part: "menu-item", tabindex: "-1" }, this.#say(name))));
		menu.firstChild.focus();
	}

	#closeMenu() {
		this.#parts.menu.hidePopover();
		this.#opener.focus();
	}

	#day(days, hour) {
		const moment = new Date(this.#now);
		moment.setDate(moment.getDate() + days);
		moment.setHours(hour, 0, 0, 0);
		return moment;
	}

	#times(work) {
		const evening = this.#day(0, 18);
		return [
			["hour", () => work(this.#now + 3_600_000)],
			evening > this.#now && ["evening", () => work(evening)],
			["tomorrow", () => work(this.#day(1, 9))],
		];
	}

	#hush() {
		const { quiet } = this.#parts;
		const set = (as, until) => this.#try(this.#client[as]({ all: true, until })).then(() => this.#showQuiet());
		if (quiet.ariaPressed === "true") set("unmute");
		else this.#showMenu(quiet, [...this.#times((until) => set("mute", until)), ["always", () => set("mute")]]);
	}

	async #showQuiet() {
		const { quiet } = this.#parts;
		const known = await this.#client?.get("mutes").catch(() => {});
		if (known) quiet.ariaPressed = known.mutes.some(({ all }) => all);
	}

	#step(event) {
		const entries = [...this.#parts.menu.querySelectorAll("[role=menuitem]")];
		event.stopPropagation();
		if (event.key === "Tab" && entries.length) this.#parts.menu.hidePopover();
		steps(event, entries, this.#root.activeElement)?.focus();
	}

	#onTray() {
		const p = this.#parts;
		const tray = this.#client?.tray;
		if (!p.button) return;
		const isUnread = this.getAttribute("count") === "unread";
		const n = (isUnread ? tray?.unread : tray?.unseen) ?? 0;
		const said = this.#wrong ? this.#say("wrong", { what: this.#wrong }) : n ? this.#say(isUnread ? "count" : "unseen", { n }) : this.#say("nothing");
		p.badge.hidden = !n;
		p.badge.textContent = n > 999 ? "999+" : n || "";
		p.button.ariaLabel = `${this.#say("title")}, ${said}`;
		this.#tabs.forEach(({ label, filter }, index) => {
			const names = [filter.category ?? []].flat();
			const count = filter.unread ? tray?.unread : names.reduce((sum, name) => sum + (tray?.categories[name]?.unread ?? 0), 0);
			p.tabs.children[index].textContent = count ? `${label} ${count}` : label;
		});
		p.all.hidden = !tray?.unread;
		p.all.textContent = this.#say("markAll", { n: tray?.unread });
		this.#entitle(n);
		if (!tray) return;
		this.#asOf = new Date(this.#now);
		this.#tell(n);
		if (this.#wantsSee && this.#isOpen) {
			this.#wantsSee = false;
			this.#try(this.#client.see());
		}
		if (this.#isOpen && this.#list instanceof Groups) {
			clearTimeout(this.#timers.groups);
			this.#timers.groups = setTimeout(() => this.#load(true), 300);
		}
	}

	#tell(n) {
		if (n > this.#told) {
			this.#timers.tell ??= setTimeout(() => {
				this.#timers.tell = undefined;
				this.#parts.live.textContent = this.#parts.button.ariaLabel;
			}, 1500);
		}
		this.#told = n;
	}

	#entitle(n) {
		const [title, badge] = ["page-title", "badge"].map((name) => this.hasAttribute(name));
		if (n && (title || badge)) shown.set(this, [`${this.getAttribute("server")} ${this.#client?.user}`, n]);
		else shown.delete(this);
		if (badge) navigator.setAppBadge?.(total()).catch(() => {});
		if (title || titles) entitle();
	}

	#onState() {
		const { banner } = this.#parts;
		const state = this.#client?.state;
		if (!banner) return;
		banner.hidden = state !== "offline" && state !== "refused";
		const time = this.#asOf?.toLocaleTimeString(this.#language, { hour: "2-digit", minute: "2-digit" });
		const text = state === "refused" ? this.#say("refused") : this.#say(time ? "asOf" : "offline", { time });
		banner.replaceChildren(h("bdi", {}, text), this.#again());
		if (state === "live" && this.#isOpen && this.#failed) this.#load(this.#list?.loaded);
		this.#draw();
	}
}

customElements.get("traylog-bell") ?? customElements.define("traylog-bell", TraylogBell);
export { TraylogBell };

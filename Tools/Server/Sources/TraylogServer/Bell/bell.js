// <traylog-bell>: a button with a number, and its panel. Text enters the page as text only.

import { TrayClient, TrayProblem } from "./client.js";
export { TrayClient, TrayProblem };

const ENGLISH = {
	title: "Notifications", unseen: "{n} new", count: "{n} unread", nothing: "nothing new", unknown: "loading", away: "offline",
	out: "signed out", noAccess: "no access", hushed: "do not disturb",
	inbox: "Inbox", unread: "Unread", archived: "Archived", close: "Close", back: "Back", markAll: "Mark all as read ({n})",
	marked: "{n} marked as read.", done: "Done.", undo: "Undo", loading: "Loading…", empty: "Nothing here yet",
	emptyMore: "New notifications will appear here.", emptyUnread: "Everything is read.", emptySearch: "Nothing found for “{text}”.",
	end: "That is all.", offline: "Offline.", asOf: "Offline. As of {time}.", unreachable: "Cannot be reached", unreachableMore: "You are offline, or the server does not answer.",
	waits: { one: "{n} change will be sent later.", other: "{n} changes will be sent later." },
	signedOut: "Signed out", refused: "Your access expired. Sign in again.", signIn: "Sign in",
	blocked: "No access", blockedMore: "Your account has no access to these notifications.",
	failed: "Loading failed.", wrong: "Not set up: {what} is no address.", retry: "Try again", menu: "More: {title}",
	read: "Mark as read", unreadAgain: "Mark as unread", archive: "Archive", unarchive: "Unarchive", snooze: "Snooze", hour: "1 hour",
	evening: "This evening", tomorrow: "Tomorrow", week: "Next week", date: "Until a date…", mute: "Mute this thread", muteTopic: "Mute this topic", delete: "Delete",
	showAll: "Show all", search: "Search", quiet: "Do not disturb", always: "Until I turn it off", critical: "Critical", timeSensitive: "Urgent",
	changed: "Changed", changedSince: "This changed after you opened it. Please answer again.",
	more: { one: "{n} more notification", other: "{n} more notifications" }, by: "{more} from {names}", others: "{n} others",
	settings: "Settings", categories: "Notify me about", muted: "Muted", mutedNone: "Nothing is muted.", unmute: "Unmute",
	until: "until {time}", thread: "Thread", topic: "Topic", category: "Category",
	system: "Show notifications while this page is in the background", turnOn: "Turn on", turnedOn: "On",
	denied: "Blocked. Allow them in the browser’s settings.",
};

// Each is a file of its own, loaded where a page is in that language.
const LANGUAGES = new Set(["ar", "de", "es", "fr", "it", "ja", "pt", "zh"]);
const texts = { en: ENGLISH };
const loads = {};

const ICONS = {
	bell: "M6 9a6 6 0 0 1 12 0c0 6 2 7 2 7H4s2-1 2-7M10 20a2 2 0 0 0 4 0",
	quiet: "M8 4.5A6 6 0 0 1 18 9c0 3 .5 4.7 1 5.7M16 16H4s2-1 2-7q0-1 .3-2M10 20a2 2 0 0 0 4 0M3 3l18 18",
	settings: "M4 7h9m5 0h2M4 17h2m5 0h9M13 7a2.5 2.5 0 1 0 5 0 2.5 2.5 0 0 0-5 0M6 17a2.5 2.5 0 1 0 5 0 2.5 2.5 0 0 0-5 0",
	close: "M6 6l12 12M18 6 6 18",
	back: "M15 5l-7 7 7 7",
	search: "M16 16l4 4M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14",
	more: "M5 12h.01M12 12h.01M19 12h.01",
	read: "M4 12.5l5 5L20 6.5",
	all: "M2 12.5l4.5 4.5L16 7M11.5 16.5l.5.5L22 7",
	lock: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
	user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4 20c1-4 4-5 8-5s7 1 8 5",
	offline: "M9 6.2A6 6 0 0 1 18 10a4 4 0 0 1 2.5 6.5M16.5 18H7a4.8 4.8 0 0 1-1-9.3M3 3l18 18",
	warning: "M12 4 2.5 20h19zM12 10v4M12 17h.01",
	critical: "M8.5 3h7L21 8.5v7L15.5 21h-7L3 15.5v-7zM12 8v4.5M12 16h.01",
	question: "M9 9a3 3 0 1 1 4 2.8c-1 .5-1 1.2-1 2.2M12 17h.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18",
};

const RULES = `
:host{display:inline-block;position:relative;font-family:var(--tl-font,inherit);font-size:var(--tl-size,.875rem);line-height:1.45;
	min-width:2.5rem;min-height:2.5rem;vertical-align:middle;
	--tl-ink:light-dark(#1b1f24,#e8eaed);--tl-paper:light-dark(#fff,#1d2125);
	--tl-soft:color-mix(in srgb,var(--tl-ink) 68%,var(--tl-paper));--tl-line:color-mix(in srgb,var(--tl-ink) 15%,var(--tl-paper));
	--tl-hover:color-mix(in srgb,var(--tl-ink) 5%,var(--tl-paper));
	--tl-accent:light-dark(#0b57d0,#8ab4f8);--tl-on-accent:var(--tl-paper);
	--tl-badge:#c5221f;--tl-on-badge:#fff;--tl-urgent:light-dark(#8a4b00,#f5b85c);--tl-critical:light-dark(#b3161b,#ff8a80);
	--tl-radius:.75rem;--tl-avatar:2.25rem}
:host([hidden]),[hidden]{display:none !important}
*{box-sizing:border-box}
button,input{font:inherit;color:inherit;letter-spacing:inherit;border-radius:.375rem}
button{background:none;border:0;padding:.375rem .5rem;cursor:pointer;display:inline-flex;align-items:center;gap:.4rem}
button:hover,.row:hover{background:var(--tl-hover)}
:focus-visible{outline:2px solid var(--tl-accent);outline-offset:-2px}
svg{width:1.25rem;height:1.25rem;flex:none;fill:none;stroke:currentColor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.bell{position:relative;padding:.5rem;min-width:2.5rem;min-height:2.5rem;line-height:0;justify-content:center}
.bell:hover{background:color-mix(in srgb,currentColor 10%,transparent)}
.bell:focus-visible{outline-color:currentColor}
.bell svg{width:1.5rem;height:1.5rem}
.unsure slot > *,.unsure ::slotted(*){opacity:.5}
.badge{position:absolute;top:0;inset-inline-end:0;min-width:1.125rem;padding:0 .3rem;border:1px solid transparent;text-align:center;
	border-radius:1rem;background:var(--tl-badge);color:var(--tl-on-badge);font-size:.6875rem;line-height:1rem;font-weight:600;letter-spacing:normal}
.unsure .badge,.sign{background:#5f6368;color:#fff}
.sign{position:absolute;bottom:.125rem;inset-inline-end:.125rem;padding:.125rem;border-radius:50%;border:1px solid transparent}
.bell .sign svg{width:.75rem;height:.75rem;stroke-width:2.5;display:block}
.away{position:absolute;width:1px;height:1px;overflow:hidden;margin:0;opacity:0;clip-path:inset(50%)}
[popover]{position:fixed;inset:auto;margin:0;padding:0;color:var(--tl-ink);background:var(--tl-paper);text-align:left;font-weight:400;
	font-style:normal;text-transform:none;letter-spacing:normal;word-spacing:normal;text-indent:0;white-space:normal;text-shadow:none;
	border:1px solid var(--tl-line);border-radius:var(--tl-radius);box-shadow:0 .75rem 2.5rem #0003,0 .125rem .5rem #0002;color-scheme:light}
.dark{color-scheme:dark}
[popover]:dir(rtl){text-align:right}
.panel{width:var(--tl-width,26rem);max-width:100vw;max-height:min(40rem,100dvh);overflow:hidden}
.panel:popover-open{display:flex;flex-direction:column}
.header,.tabs,.toast,.banner,.footer{display:flex;align-items:center;gap:.25rem;padding:.5rem .75rem;flex:none}
.header{padding-inline-start:1rem}
.name{font-size:1.15em;font-weight:600;margin-inline-end:.5rem}
.grow,bdi{flex:1;min-width:0}
.field{position:relative;flex:1;min-width:4rem;display:flex}
.field svg{position:absolute;inset-inline-start:.5rem;top:.5rem;width:1rem;height:1rem;color:var(--tl-soft);pointer-events:none}
input{border:1px solid color-mix(in srgb,var(--tl-ink) 55%,var(--tl-paper));padding:.3rem .5rem;background:none;min-width:0}
.field input{width:100%;padding-inline-start:1.8rem;border-radius:2rem}
::placeholder{color:var(--tl-soft);opacity:1}
.icon{padding:.375rem;min-width:2rem;min-height:2rem;justify-content:center;color:var(--tl-soft)}
.icon:hover,.icon:focus-visible{color:var(--tl-ink)}
:dir(rtl) > .turns svg{transform:scaleX(-1)}
.tabs{padding-block:0;border-bottom:1px solid var(--tl-line);overflow-x:auto;scrollbar-width:thin}
[role=tab]{border-radius:.25rem .25rem 0 0;position:relative;padding-block:.5rem;white-space:nowrap;color:var(--tl-soft)}
[role=tab][aria-selected=true]{color:var(--tl-ink);font-weight:600}
[role=tab][aria-selected=true]::after{content:"";position:absolute;inset:auto .25rem 0;border-bottom:3px solid var(--tl-accent)}
.n{font-size:.85em;font-weight:600;padding:0 .375rem;border-radius:1rem;background:var(--tl-line);color:var(--tl-ink)}
.banner{gap:.5rem;background:var(--tl-hover);border-bottom:1px solid var(--tl-line);padding-block:.25rem}
[aria-pressed=true].icon{background:var(--tl-ink);color:var(--tl-paper)}
.body{flex:1 1 auto;min-height:0;overflow:hidden auto;overscroll-behavior:contain}
.link{color:var(--tl-accent);font-weight:500}
.new{position:sticky;top:.5rem;z-index:1;display:flex;margin:.5rem auto -2.75rem;background:var(--tl-ink);color:var(--tl-paper);border-radius:2rem;padding-inline:1rem}
.new:hover{background:var(--tl-ink)}
article{cursor:pointer;overflow-wrap:anywhere;content-visibility:auto;contain-intrinsic-size:auto 5rem}
article:focus-visible{outline:none}
article:focus-visible .row{outline:2px solid var(--tl-accent);outline-offset:-2px;border-radius:.375rem}
.day{padding:.75rem 1rem .25rem;font-size:.85em;font-weight:600;color:var(--tl-soft);cursor:default}
.day::first-letter{text-transform:uppercase}
.row{position:relative;display:flex;gap:.75rem;padding-block:.625rem;padding-inline:1rem .375rem}
.dot{position:absolute;inset-inline-start:.3rem;top:calc(.625rem + var(--tl-avatar) / 2 - 4px);border:4px solid var(--tl-accent);border-radius:50%}
.face{position:relative;flex:none;width:var(--tl-avatar);height:var(--tl-avatar);border-radius:50%;display:grid;place-items:center;font-weight:600;font-size:.9em;
	color:var(--tl-soft);background:var(--tl-hover);border:1px solid var(--tl-line);user-select:none}
.face:not(.plain):has(.chip){padding-bottom:.5rem}
.face img{width:100%;height:100%;object-fit:cover;border-radius:50%}
.c0{--c:#c2185b} .c1{--c:#6a3fd0} .c2{--c:#0b6fd0} .c3{--c:#00796b} .c4{--c:#8a5a00} .c5{--c:#ad3a1e}
[class*=" c"]{background:color-mix(in srgb,var(--c) 16%,var(--tl-paper));color:color-mix(in srgb,var(--c) 45%,var(--tl-ink));border-color:transparent}
.chip{position:absolute;bottom:-.2rem;inset-inline-end:-.3rem;border-radius:50%;padding:.15rem;line-height:0;background:var(--tl-paper);color:var(--tl-soft);border:1px solid var(--tl-line)}
.chip svg{width:.75rem;height:.75rem;stroke-width:2.2}
.main{flex:1;min-width:0;align-self:center}
.meta{display:flex;align-items:baseline;gap:.5rem;color:var(--tl-soft)}
.meta > :first-child{flex:1;min-width:0}
.sender,.title{overflow:hidden;text-overflow:ellipsis;white-space:nowrap;unicode-bidi:isolate}
.sender{font-size:.93em}
time{font-size:.85em;white-space:nowrap}
.title{display:block;color:var(--tl-ink)}
.unread .title{font-weight:600}
a.title{text-decoration:none;-webkit-user-select:text;user-select:text}
.row:hover a.title{text-decoration:underline;text-underline-offset:.2em}
.text{color:var(--tl-soft);unicode-bidi:isolate;overflow:hidden}
.text,.asks .title{white-space:pre-line;display:-webkit-box;-webkit-line-clamp:2;-webkit-box-orient:vertical}
.asks .title,.asks .text{-webkit-line-clamp:8}
.whole .title,.whole .text{white-space:pre-line;display:block}
.level{display:inline-flex;align-items:center;gap:.2rem;align-self:center;white-space:nowrap;padding:0 .4rem;border:1px solid;border-radius:1rem;font-size:.8em;font-weight:600;color:var(--tl-soft)}
.level svg{width:.9em;height:.9em;stroke-width:2.4}
.timeSensitive .level{color:var(--tl-urgent)}
.critical .level{color:var(--tl-paper);background:var(--tl-critical);border-color:var(--tl-critical)}
.timeSensitive .plain{color:var(--tl-urgent)}
.critical .plain{color:var(--tl-critical)}
.critical .row{box-shadow:inset 3px 0 var(--tl-critical)}
.critical .row:dir(rtl){box-shadow:inset -3px 0 var(--tl-critical)}
.answers{display:flex;flex-wrap:wrap;gap:.375rem;margin-top:.5rem}
.act{border:1px solid color-mix(in srgb,var(--tl-ink) 45%,var(--tl-paper));padding:.25rem .75rem;font-weight:500;overflow-wrap:anywhere;text-align:start}
.primary{background:var(--tl-accent);border-color:var(--tl-accent);color:var(--tl-on-accent)}
.primary:hover{background:color-mix(in srgb,var(--tl-accent) 85%,var(--tl-ink))}
.rest,.more{margin-inline-start:-.5rem}
.dots{align-self:flex-start;margin-top:.125rem}
.dots svg{stroke-width:3}
.note{padding:1rem;text-align:center;color:var(--tl-soft);margin:0}
.state{display:grid;justify-items:center;gap:.25rem;padding:3rem 1.5rem;text-align:center;color:var(--tl-soft)}
.state p{margin:0}
.state > svg{width:3.5rem;height:3.5rem;padding:.875rem;border-radius:50%;background:var(--tl-hover);stroke-width:1.5;margin-bottom:.5rem}
.state .lead{font-size:1.1em;font-weight:600;color:var(--tl-ink)}
.state button{margin-top:.75rem}
.bone{display:flex;gap:.75rem;padding:.75rem 1rem}
.bone::before{content:"";width:var(--tl-avatar);height:var(--tl-avatar);border-radius:50%;background:var(--tl-line)}
.bone::after{content:"";flex:1;height:2.5rem;border-radius:.375rem;background:linear-gradient(var(--tl-line) 35%,transparent 35% 60%,var(--tl-line) 60% 90%,transparent 90%)}
@media (prefers-reduced-motion:no-preference){.badge,.fresh .dot{animation:a .3s ease-out both} @keyframes a{from{scale:.4}} .bone{animation:b 1.2s ease-in-out infinite alternate} @keyframes b{to{opacity:.5}}}
.footer{border-top:1px solid var(--tl-line);padding-block:.25rem;justify-content:center}
.toast{background:var(--tl-ink);color:var(--tl-paper);margin:.5rem;padding:.375rem .75rem;border-radius:.5rem;min-height:2.75rem}
.toast .link{color:inherit;text-decoration:underline}
.toast .link:hover{background:none}
.menu{padding:.25rem;min-width:12rem}
.menu .day{padding:.375rem .5rem;font-size:.85em;color:var(--tl-soft)}
.menu button{display:flex;width:100%;text-align:start;gap:.6rem}
.menu svg{color:var(--tl-soft)}
@media (max-width:479px){.panel{inset:0 !important;width:100%;height:100%;max-height:none !important;border:0;border-radius:0} .panel .body{flex:1}}
@media (forced-colors:active){
	.badge,.sign,.critical .level,.face,.chip,.new,.toast,[aria-pressed=true].icon{border:1px solid}
	.primary,[role=tab][aria-selected=true]::after{forced-color-adjust:none;background:Highlight;color:HighlightText;border-color:Highlight}
	.dot{border-color:Highlight;forced-color-adjust:none}
	.bone::before,.bone::after{border:1px solid}
}
`;

const SVG = "http://www.w3.org/2000/svg";
// How long an open panel waits before it asks again for what did not come.
const AGAIN = 5000;
const UNITS = [["hour", 3600], ["minute", 60]];

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

// Only where it says something else: what is replaced below a pointer that is pressed gets no click, and a button loses the focus.
function fill(node, ...children) {
	const made = children.filter(Boolean);
	const text = made.map((child) => child.textContent ?? child).join("");
	if (node.textContent !== text || !node.firstChild) node.replaceChildren(...made);
}

const button = (click, attributes, ...children) => h("button", { type: "button", click, ...attributes }, ...children);

let signs;

function drawing(name) {
	const svg = document.createElementNS(SVG, "svg");
	const path = document.createElementNS(SVG, "path");
	svg.setAttribute("viewBox", "0 0 24 24");
	svg.setAttribute("aria-hidden", "true");
	const draw = () => path.setAttribute("d", Object.hasOwn(ICONS, name) ? ICONS[name] : ICONS.bell);
	if (Object.hasOwn(ICONS, name)) draw();
	else (signs ??= import("./icons.js").then((module) => Object.assign(ICONS, module.default)).catch(() => {})).then(draw);
	svg.append(path);
	return svg;
}

// A locale that Intl knows and whose texts there are, for any tag that a page may have; English for all others.
function language(tag, isAny) {
	try {
		const [known] = Intl.DateTimeFormat.supportedLocalesOf(tag.replaceAll("_", "-").replace(/[^\w-].*/s, ""));
		const { language, script } = new Intl.Locale(known).maximize();
		return isAny || language === "en" || (LANGUAGES.has(language) && script !== "Hant") ? known : "en";
	} catch {
		return "en";
	}
}

// The address of a link, or of a picture, which may come from any https origin; null for any other scheme.
function safeAddress(url, origins) {
	if (typeof url !== "string" || /[\u0000-\u0020\u007f-\u009f\\]/.test(url)) return null;
	if (/^\/(?!\/)/.test(url)) origins = [location.origin];
	else if (!/^https:\/\/[^/?#@]+([/?#]|$)/i.test(url)) return null;
	try {
		const { origin, href } = new URL(url, location.origin);
		return !origins || origins.includes(origin) ? href : null;
	} catch {
		return null;
	}
}

const word = (value) => (typeof value === "string" && value.trim().slice(0, 100)) || null;

// Who sent an item: the name in its data, or the actor, unless that is a number for machines.
function sender({ actor, data }, user) {
	return word(data?.name) ?? (actor && actor !== user && !/[\da-f]{8}|^\P{L}*$/iu.test(actor) ? actor : null);
}

function face(item, name) {
	const { image, icon } = Object(item.data);
	const level = { critical: "critical", timeSensitive: "warning" }[item.level];
	const sign = !word(icon) ? null : /^[a-z]+$/.test(icon) ? drawing(icon) : /^\p{Extended_Pictographic}/u.test(icon) ? [...icon].slice(0, 8).join("") : null;
	const src = safeAddress(image);
	const letters = name?.split(/\s+/).filter((part) => /[\p{L}\p{N}]/u.test(part)).map((part) => part.match(/[\p{L}\p{N}]/u)[0].toUpperCase()) ?? [];
	const tone = [...(name ?? "")].reduce((sum, letter) => (sum * 31 + letter.codePointAt()) % 997, 7) % 6;
	const plain = () => letters.length ? [letters[0], letters.length > 1 ? letters.at(-1) : ""].join("") : drawing(level ?? (item.actions ? "question" : "bell"));
	const picture = src && h("img", {
		src, alt: "", loading: "lazy", decoding: "async", referrerpolicy: "no-referrer", draggable: "false",
		error: () => picture.replaceWith(plain()) });
	const hasFace = picture || letters.length > 0;
	return h("span", { class: `face ${letters.length && !src ? `c${tone}` : "plain"}`, part: "avatar", "aria-hidden": "true" },
		picture || (sign && !hasFace ? sign : plain()), hasFace && sign && h("span", { class: "chip", part: "icon" }, sign));
}

// The calendar's day of a moment, as a number.
const dayOf = (moment) => Date.UTC(moment.getFullYear(), moment.getMonth(), moment.getDate()) / 86_400_000;

const formats = new Map();

function format(kind, language, options) {
	const key = kind + language + JSON.stringify(options);
	if (!formats.has(key)) formats.set(key, new Intl[kind](language, options));
	return formats.get(key);
}

function steps(event, elements, from, next = "ArrowDown", last = "ArrowUp") {
	const at = elements.indexOf(from);
	const to = { [next]: at + 1, [last]: at - 1, PageDown: at + 5, PageUp: at - 5, Home: 0, End: Infinity }[event.key];
	if (to === undefined) return;
	event.preventDefault();
	return elements[Math.max(0, Math.min(to, elements.length - 1))];
}

let sheet;
function rules() {
	if (sheet) return sheet;
	sheet = new CSSStyleSheet();
	sheet.replaceSync(RULES);
	return sheet;
}

// Where there is no window, as on a server that draws pages, there is only a name to import.
const Element = globalThis.HTMLElement ?? class {};

class TraylogBell extends Element {
	static observedAttributes = ["server", "user", "token-url", "lang", "count", "tabs", "categories", "group", "badge", "page-title", "system-notifications", "theme"];

	#root = this.attachShadow({ mode: "open" });
	#parts = {};
	#places = new CSSStyleSheet();
	#language = "en";
	#changes = new MutationObserver(() => this.#keep());
	#languages = new MutationObserver(() => this.#said !== this.#language && this.#build());
	#renderItem = null;
	#given = null;
	#wrong = "";
	#own = {};
	#client = null;
	#watch = null;
	#tab = 0;
	#thread;
	#list = null;
	#unread = null;
	#nodes = new Map();
	#whole = new Set();
	#changed = new Set();
	#active = 0;
	#failed = null;
	#isLoading = false;
	#wantsSee = false;
	#wantsOpen = false;
	#isLate = false;
	#isQuiet = false;
	#isOut = false;
	#isEntitled = false;
	#asOf = null;
	#told = 0;
	#news = "";
	#timers = {};
	#pressed = {};
	#frame = 0;

	constructor() {
		super();
		// What a page set before this module came.
		for (const name of ["client", "strings", "renderItem"]) {
			if (!Object.hasOwn(this, name)) continue;
			const value = this[name];
			delete this[name];
			this[name] = value;
		}
	}

	get client() {
		return this.#client;
	}

	set client(client) {
		this.#given = client;
		this.#restart();
	}

	get renderItem() {
		return this.#renderItem;
	}

	set renderItem(render) {
		this.#renderItem = render;
		this.#build();
	}

	set strings(strings) {
		this.#own = strings ?? {};
		this.#build();
	}

	get strings() {
		return { ...ENGLISH, ...texts[this.#base], ...this.#own };
	}

	get #base() {
		return this.#language.split("-")[0];
	}

	get #said() {
		let at = this;
		while (at && !at.closest("[lang]")) at = at.getRootNode().host;
		const own = this.#own.lang;
		// An app that brings its own texts says which language they are in.
		return own ? language(own, true) : language(at?.closest("[lang]").lang ?? "");
	}

	get #now() {
		return this.#client?.now ?? Date.now();
	}

	connectedCallback() {
		// Rules of its own in place of style attributes, which a strict page does without.
		this.#places.replaceSync(".panel {} .menu {}");
		this.#root.adoptedStyleSheets = [rules(), this.#places];
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
		if (!this.isConnected || old === value || !this.#watch) return;
		if (["server", "user", "token-url"].includes(name)) this.#restart();
		else this.#build();
	}

	open() {
		this.#wantsOpen = !this.#parts.panel;
		this.#parts.panel?.showPopover();
	}

	close() {
		this.#wantsOpen = false;
		this.#parts.panel?.hidePopover();
	}

	// Frameworks write "false" where they mean none.
	#has(name) {
		return this.hasAttribute(name) && this.getAttribute(name) !== "false";
	}

	#end() {
		this.#watch?.abort();
		if (this.#client && this.#client !== this.#given) this.#client.stop();
		this.#list?.close();
		this.#unread?.close();
		this.#client = this.#list = this.#unread = null;
	}

	#restart() {
		if (!this.isConnected) return;
		this.#end();
		this.#asOf = null;
		this.#told = 0;
		this.#wrong = "";
		this.#isQuiet = this.#isOut = false;
		this.#client = this.#given ?? this.#make();
		const client = this.#client;
		this.#watch = new AbortController();
		if (client) {
			const { signal } = this.#watch;
			client.addEventListener("tray", () => this.#onTray(), { signal });
			client.addEventListener("state", () => this.#onState(), { signal });
			client.addEventListener("items", ({ detail }) => {
				if (detail === this.#list) this.#draw();
				if (detail === this.#unread) this.#showAll();
			}, { signal });
			client.addEventListener("problem", ({ detail }) => this.#toast(
				detail.error === "changedSince" ? this.#say("changedSince") : detail.detail), { signal });
			client.addEventListener("user", () => this.#given || this.#restart(), { signal });
			addEventListener("resize", () => this.#isOpen && (this.#place(), this.#cut()), { signal });
			client.start();
		}
		// Nothing of the person before stays.
		this.#build(true);
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

	// What is here is never ahead, whatever the clocks say.
	#arrived({ occurredAt, arrivedAt, recordedAt }) {
		const moment = Math.min(new Date(arrivedAt ?? recordedAt), this.#now);
		return new Date(occurredAt && !arrivedAt ? Math.min(new Date(occurredAt), moment) : moment);
	}

	get #today() {
		return dayOf(new Date(this.#now));
	}

	// Minutes and hours of today, the time of other days, whose heading has the day.
	#relative(moment, today = this.#today) {
		if (dayOf(moment) < today) return this.#clock(moment);
		const seconds = Math.min(0, moment - this.#now) / 1000;
		const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 60];
		const say = (style) => format("RelativeTimeFormat", this.#language, { numeric: "auto", style }).format(Math.trunc(seconds / size) || 0, unit);
		// French, among others, has "-4 min" in brief.
		const brief = say("narrow");
		return /^[-−]/.test(brief) ? say("short") : brief;
	}

	#clock(moment) {
		return format("DateTimeFormat", this.#language, { hour: "numeric", minute: "2-digit" }).format(moment);
	}

	#day(ago) {
		if (ago < 2) return format("RelativeTimeFormat", this.#language, { numeric: "auto" }).format(-ago || 0, "day");
		const moment = this.#later(-ago, 12);
		const isNear = moment.getFullYear() === new Date(this.#now).getFullYear();
		return format("DateTimeFormat", this.#language, { day: "numeric", month: "long", ...(isNear ? { weekday: "long" } : { year: "numeric" }) }).format(moment);
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

	#named(attribute) {
		return (this.getAttribute(attribute) ?? "").split(";").filter((text) => text.includes(":")).map((text) => {
			const [label, names] = text.split(/:(.*)/s);
			return { label: label.trim(), categories: names.split(",").map((name) => name.trim()).filter(Boolean) };
		});
	}

	get #tabs() {
		return [
			{ label: this.#say("inbox"), empty: "empty", more: "emptyMore", filter: {} },
			{ label: this.#say("unread"), empty: "emptyUnread", filter: { unread: true } },
			{ label: this.#say("archived"), empty: "empty", filter: { view: "archived" } },
			...this.#named("tabs").map(({ label, categories }) => ({ label, empty: "empty", filter: { category: categories } })),
		];
	}

	// Waits for the texts of the page's language, and no longer than three seconds.
	#isLoaded(isNew) {
		const base = this.#said.split("-")[0];
		if (texts[base] || !LANGUAGES.has(base) || this.#isLate) return true;
		loads[base] ??= import(`./${base}.js`).then((module) => (texts[base] = module.default), () => LANGUAGES.delete(base));
		loads[base].then(() => this.#build());
		this.#timers.late ??= setTimeout(() => {
			this.#isLate = true;
			this.#build();
		}, 3000);
		if (isNew) {
			this.#wantsOpen ||= this.#isOpen;
			this.#parts = {};
			this.#root.replaceChildren();
		}
		return false;
	}

	#build(isNew) {
		if (!this.isConnected || !this.#watch || !this.#isLoaded(isNew)) return;
		const wasOpen = this.#isOpen || this.#wantsOpen;
		this.#wantsOpen = false;
		const said = this.#said;
		this.#language = texts[said.split("-")[0]] || this.#own.lang ? said : "en";
		const p = (this.#parts = {});
		const iconButton = (name, icon, click, more = {}) => button(click, {
			class: "icon", part: name, title: this.#say(name), "aria-label": this.#say(name), ...more }, drawing(icon));
		p.search = h("input", {
			type: "search", part: "search", "aria-label": this.#say("search"), placeholder: this.#say("search"), maxlength: 200,
			input: () => {
				clearTimeout(this.#timers.search);
				this.#timers.search = setTimeout(() => this.#open(), 300);
			},
		});
		p.quiet = iconButton("quiet", "quiet", () => this.#menu("ofQuiet", p.quiet), { "aria-pressed": "false" });
		p.badge = h("span", { class: "badge", part: "badge", "aria-hidden": "true" });
		p.icon = h("slot", { name: "icon" }, drawing("bell"));
		p.sign = h("span", { class: "sign", part: "sign", hidden: true }, drawing("warning"));
		p.button = button(null, { class: "bell", part: "button", "aria-haspopup": "dialog", "aria-expanded": "false" }, p.icon, p.badge, p.sign);
		p.live = h("p", { class: "away", role: "status" });
		p.tabs = h("div", { class: "tabs", part: "tabs", role: "tablist", keydown: (event) => this.#turn(event) },
			this.#tabs.map((tab, index) => button(() => this.#select(index), {
				role: "tab", part: "tab", id: `tab${index}`, "aria-controls": "body" }, tab.label)));
		p.banner = h("div", { class: "banner", part: "banner", hidden: true });
		p.fresh = button(() => this.#showNew(), { class: "new", part: "new", hidden: true });
		p.back = button(() => this.#openThread(), { class: "link turns", hidden: true }, drawing("back"), this.#say("back"));
		p.all = button(() => this.#markAll(), { class: "link", part: "mark-all" });
		p.feed = h("div", {
			role: "feed", part: "list", "aria-label": this.#say("title"), keydown: (event) => this.#move(event),
			focusin: ({ target }) => (this.#active = target.closest("article").seq, this.#rove()),
		});
		p.note = h("div", { part: "note" });
		p.body = h("div", { class: "body", id: "body", role: "tabpanel", scroll: () => this.#scrolled() }, p.fresh, p.back, p.feed, p.note);
		p.footer = h("div", { class: "footer", part: "footer" }, p.all);
		p.toast = h("div", { class: "toast", part: "toast", role: "status", hidden: true });
		p.menu = h("div", { class: "menu", part: "menu", popover: "auto", role: "menu" });
		p.name = h("div", { class: "name", id: "name" }, this.#say("title"));
		p.header = h("div", { class: "header", part: "header" }, p.name, h("div", { class: "field" }, drawing("search"), p.search), p.quiet,
			iconButton("settings", "settings", () => this.#set()), iconButton("close", "close", () => this.close()));
		p.settings = h("div", { class: "body", part: "settings", hidden: true });
		p.panel = h("div", {
			class: "panel", part: "panel", role: "dialog", popover: "auto", "aria-labelledby": "name", tabindex: "-1", lang: this.#language, dir: this.#direction,
			beforetoggle: (event) => event.target === p.panel && this.#toggled(event.newState === "open"),
			toggle: ({ target, newState }) => {
				if (target !== p.panel) return;
				if (newState === "open") this.#place(), this.#selected.focus();
				else if ([this, document.body].includes(document.activeElement)) p.button.focus();
			},
		}, p.header, p.tabs, p.banner, p.body, p.settings, p.toast, p.footer, p.menu);
		p.button.popoverTargetElement = p.panel;
		this.#nodes.clear();
		this.#root.replaceChildren(p.button, p.panel, p.live);
		this.#changes.observe(p.panel, { childList: true, subtree: true, attributeFilter: ["hidden"] });
		this.#onTray();
		this.#sign();
		if (this.#has("system-notifications")) import("./system.js").then(({ system }) => p === this.#parts && system(this.#tools)).catch(() => {});
		if (wasOpen) this.open();
	}

	// What goes, or is drawn anew, leaves the focus in the panel.
	#keep(first) {
		const { settings } = this.#parts;
		const active = this.#root.activeElement;
		if (!this.#isOpen || (active ? active.checkVisibility() : document.activeElement !== document.body)) return;
		[first, settings.querySelector("button"), this.#nodes.get(this.#active)?.node, this.#selected].find((one) => one?.checkVisibility())?.focus();
	}

	get #direction() {
		const { script } = new Intl.Locale(this.#language).maximize();
		return /^(Arab|Hebr|Thaa|Syrc|Nkoo|Adlm|Rohg)$/.test(script) ? "rtl" : "ltr";
	}

	#toggled(isOpen) {
		const p = this.#parts;
		p.button.ariaExpanded = isOpen;
		clearInterval(this.#timers.clock);
		if (!isOpen) return;
		this.#timers.clock = setInterval(() => this.#tick(), 30_000);
		this.#thread = undefined;
		p.search.value = "";
		p.settings.hidden = true;
		p.body.hidden = p.tabs.hidden = p.header.hidden = false;
		this.#dress();
		this.#menu();
		this.#select(this.#tab);
		this.#showQuiet();
		this.#wantsSee = !this.#client?.tray;
		if (!this.#wantsSee) this.#try(this.#client?.see());
	}

	// Dark where the page's own text is light, whatever made it so.
	#dress() {
		const theme = this.getAttribute("theme");
		const [, g] = getComputedStyle(document.body).color.match(/[\d.]+/g) ?? [];
		const isDark = theme === "dark" || (theme === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches
			: theme !== "light" && +g > 140);
		for (const part of [this.#parts.panel, this.#parts.menu]) part.classList.toggle("dark", isDark);
	}

	get #isRtl() {
		return this.#parts.panel.dir === "rtl";
	}

	#align(popover, button, style, isRtl) {
		const { left, right, bottom } = button.getBoundingClientRect();
		const width = popover.offsetWidth;
		const start = isRtl ? left : right - width;
		style.left = `${Math.max(0, Math.min(start, document.documentElement.clientWidth - width))}px`;
		return bottom;
	}

	#place() {
		const { button, panel } = this.#parts;
		const [{ style }] = this.#places.cssRules;
		const bottom = this.#align(panel, button, style, getComputedStyle(this).direction === "rtl") + 6;
		const isBelow = bottom < innerHeight * 0.6;
		const space = isBelow ? bottom : innerHeight - bottom + 12 + button.offsetHeight;
		style.top = isBelow ? `${space}px` : "auto";
		style.bottom = isBelow ? "auto" : `${space}px`;
		style.maxHeight = `min(40rem, ${innerHeight - space - 8}px)`;
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

	get #words() {
		return this.#parts.search.value.trim();
	}

	#open() {
		this.#list?.close();
		this.#unread?.close();
		this.#list = this.#unread = null;
		this.#active = 0;
		this.#failed = null;
		this.#nodes.clear();
		this.#whole.clear();
		this.#parts.feed.replaceChildren();
		this.#parts.note.replaceChildren();
		this.#parts.body.scrollTop = 0;
		if (this.#client) {
			const { filter } = this.#tabs[this.#tab];
			const text = this.#words;
			const isGrouped = !text && this.#has("group") && this.#tab === 0;
			const all = { ...filter, text, ...(isGrouped && (this.#thread === undefined ? { group: true } : { thread: this.#thread })) };
			this.#list = this.#client.inbox({ pageSize: 30, ...all });
			// No count of the tray has the unread ones of these views.
			if (text || filter.view || all.thread !== undefined) this.#count(this.#client.inbox({ ...all, unread: true, pageSize: 100 }));
			this.#load();
		}
		this.#showAll();
		this.#draw();
	}

	async #count(unread) {
		this.#unread = unread;
		while (this.#unread === unread && !unread.end && unread.items.length < 1000) {
			try {
				await unread.loadMore();
			} catch {
				// The list above it says what is wrong.
				if (!this.#isOpen) return;
				await new Promise((go) => setTimeout(go, AGAIN));
			}
		}
		this.#showAll();
	}

	// How many items "mark all" marks: the unread ones of the view.
	get #left() {
		const tray = this.#client?.tray;
		if (this.#unread) return Math.min(this.#unread.items.length, 1000);
		const { category } = this.#tabs[this.#tab].filter;
		return (category ? this.#of(category) : tray?.unread) ?? 0;
	}

	#of(categories) {
		return categories.reduce((sum, name) => sum + (this.#client?.tray?.categories[name]?.unread ?? 0), 0);
	}

	#showAll() {
		const { all, footer } = this.#parts;
		// Not before the list, whose first page moves it.
		const n = this.#list?.loaded ? this.#left : 0;
		all.hidden = footer.hidden = !n || !this.#parts.settings.hidden;
		fill(all, drawing("all"), this.#say("markAll", { n }));
	}

	async #load(isAnew = false, isAgain = false) {
		const list = this.#list;
		if (!list || this.#isLoading === list) return;
		this.#isLoading = list;
		// The failure shows until a page comes.
		if (!isAgain) this.#failed = null;
		clearTimeout(this.#timers.loading);
		this.#timers.loading = setTimeout(() => {
			if (this.#isLoading !== list || list.loaded) return;
			this.#failed = true;
			this.#draw();
		}, 6000);
		try {
			await (isAnew ? list.refresh() : list.loadMore());
			if (list === this.#list) this.#failed = null;
		} catch (problem) {
			if (list === this.#list) this.#failed = problem;
			clearTimeout(this.#timers.again);
			this.#timers.again = setTimeout(() => this.#isOpen && this.#failed && this.#client?.state === "live" && this.#load(this.#list.loaded, true), AGAIN);
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
		if (!feed) return;
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
		this.#date(items);
		this.#showAll();
		this.#warn();
		feed.hidden = !items.length;
		back.hidden = this.#thread === undefined;
		fresh.hidden = !list?.waiting;
		fresh.textContent = this.#say("unseen", { n: list?.waiting });
		if (focused && !focused.isConnected) (feed.children[place] ?? feed.lastChild ?? this.#selected).focus();
		this.#rove();
		fill(note, ...this.#notes(list, items));
		this.#cut();
		this.#see();
		if (list?.loaded && !list.end && !this.#failed && !body.hidden && body.scrollHeight <= body.clientHeight + 200) this.#load();
	}

	// A question offers the rest of a text that is too long for it.
	#cut() {
		for (const rest of this.#parts.feed.querySelectorAll(".rest")) {
			rest.hidden = ![...rest.parentNode.querySelectorAll(".title, .text")].some((one) => one.scrollHeight > one.clientHeight + 1);
		}
	}

	// What stays in the open list for a moment is seen, and with it what is older, as when the panel opened.
	#see(isStill) {
		const client = this.#client;
		const { group, position } = this.#list?.items[0] ?? {};
		const newest = group?.position ?? position;
		if (!this.#isOpen || this.#parts.body.hidden || document.hidden || client?.state !== "live" || client.pending) return;
		if (!client.tray?.unseen || !(newest > client.tray.seenUpTo)) return;
		if (isStill) return this.#try(client.see(newest));
		this.#timers.see ??= setTimeout(() => {
			this.#timers.see = undefined;
			this.#see(true);
		}, 2000);
	}

	// A heading above the first item of each day. An item that woke stands among those of the day when it did.
	#date(items) {
		const today = this.#today;
		let newest = 0;
		const days = [...items].reverse().map(({ seq }) => (newest = Math.max(newest, this.#nodes.get(seq).day))).reverse();
		items.forEach(({ seq }, at) => {
			const [first] = this.#nodes.get(seq).node.children;
			const heading = first.className === "day" ? first : null;
			const text = days[at] === days[at - 1] ? "" : this.#day(Math.max(0, today - days[at]));
			if (!text) heading?.remove();
			else if (!heading) first.before(h("div", { class: "day", part: "day" }, text));
			else if (heading.textContent !== text) heading.textContent = text;
		});
	}

	#tick() {
		const today = this.#today;
		for (const { time, moment } of this.#nodes.values()) if (time) time.textContent = this.#relative(moment, today);
		this.#draw();
	}

	#state(icon, lead, more, ...rest) {
		return h("div", { class: "note state", part: "state" }, drawing(icon), h("p", { class: "lead" }, lead), more && h("p", {}, more), ...rest);
	}

	#notes(list, items) {
		const client = this.#client;
		if (this.#wrong) return [h("p", { class: "note" }, this.#say("wrong", { what: `${this.#wrong}="${this.getAttribute(this.#wrong) ?? ""}"` }))];
		if (client?.state === "refused" && !items.length) {
			if (client.refusal?.status === 403) return [this.#state("lock", this.#say("blocked"), this.#say("blockedMore"), this.#again())];
			return [this.#state("user", this.#say("signedOut"), this.#say("refused"), this.#signIn("act primary"))];
		}
		if (client?.state === "offline" && !items.length && !list?.loaded) {
			return [this.#state("offline", this.#say("unreachable"), this.#say("unreachableMore"), this.#again())];
		}
		if (this.#failed) {
			if (items.length) return [h("p", { class: "note" }, this.#say("failed"), " ", this.#parts.banner.hidden && this.#again())];
			return [this.#state("warning", this.#say("failed"), null, this.#parts.banner.hidden && this.#again())];
		}
		if (list && !list.loaded) {
			return [h("p", { class: "away" }, this.#say("loading")), ...[1, 2, 3, 4].map(() => h("div", { class: "bone" }))];
		}
		if (items.length) return list.end ? [h("p", { class: "note" }, this.#say("end"))] : [];
		const { empty, more, filter } = this.#tabs[this.#tab];
		if (this.#words) return [this.#state("search", this.#say("emptySearch", { text: this.#words }))];
		return [h("slot", { name: "empty" }, this.#state(filter.unread ? "read" : filter.view ? "archive" : "bell", this.#say(empty), more && this.#say(more)))];
	}

	#again() {
		return button(() => {
			this.#client?.retry();
			this.#isLoading = false;
			this.#load(this.#list?.loaded);
			this.#draw();
		}, { class: "link", part: "retry" }, this.#say("retry"));
	}

	#signIn(look) {
		return button(() => {
			if (this.#fire("traylog-signin", { isAsked: true })) this.#client?.retry(), this.#load(this.#list?.loaded);
		}, { class: look, part: "sign-in" }, this.#say("signIn"));
	}

	#fire(name, detail) {
		return this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true, cancelable: true, detail }));
	}

	#node(item) {
		const known = this.#nodes.get(item.seq);
		// Having been seen is not drawn.
		const look = known?.item === item ? known.look : JSON.stringify(item, (key, value) => (key !== "seen" || this.#renderItem ? value : 0));
		if (known && known.look === look) {
			Object.assign(known, { item, asOf: this.#list.shownAsOf });
			return known.node;
		}
		const node = known?.node ?? h("article", {
			tabindex: "-1", part: "item", click: (event) => this.#click(event), auxclick: (event) => this.#click(event),
			pointerdown: (event) => (this.#pressed = event),
			// Or the page would begin to scroll.
			mousedown: (event) => event.button === 1 && this.#link(item) && event.preventDefault(),
		});
		node.seq = item.seq;
		const focused = node.contains(this.#root.activeElement) && this.#root.activeElement;
		// What has no title begins with its first line.
		const [first, ...lines] = item.body?.split("\n") ?? [];
		const title = item.title || first || this.#say("title");
		const body = item.title ? item.body : lines.join("\n");
		const name = sender(item, this.#client?.user);
		const level = this.strings[item.level];
		const asks = item.actions && !item.outcome && !this.#renderItem;
		node.className = `${asks ? "asks " : ""}${item.read ? "" : "unread "}${item.seen ? "" : "fresh "}${item.level}${this.#whole.has(item.seq) ? " whole" : ""}`;
		node.setAttribute("aria-labelledby", `title${item.seq}`);
		const moment = this.#arrived(item);
		const drawn = this.#renderItem?.(item);
		const href = this.#link(item);
		const dots = button((event) => this.#menu("ofItem", event.currentTarget, item), {
			class: "icon dots", part: "more", "aria-haspopup": "menu", "aria-label": this.#say("menu", { title }), tabindex: node.tabIndex,
		}, drawing("more"));
		const heading = h(href ? "a" : "div", {
			class: drawn ? "away" : "title", part: "title", id: `title${item.seq}`, dir: "auto", title: drawn || title.length < 40 ? null : title,
			...(href && { href, tabindex: "-1", draggable: "false" }),
		}, title);
		const exact = new Date(item.occurredAt ?? item.recordedAt).toLocaleString(this.#language, { dateStyle: "full", timeStyle: "short" });
		const time = drawn ? null : h("time", { datetime: moment.toISOString(), title: exact }, this.#relative(moment));
		const hint = (text, look, icon) => h("span", { class: "level", part: look }, icon && drawing(icon), text);
		const tag = level && hint(level, "level", item.level === "critical" ? "critical" : "warning");
		const day = node.querySelector(".day");
		node.replaceChildren(...[day, h("div", { class: "row", part: "row" },
			!item.read && h("span", { class: "dot", part: "dot" }),
			!drawn && face(item, name),
			h("div", { class: "main" },
				drawn ? [heading, drawn] : [
					h("div", { class: "meta", part: "meta" },
						name ? h("span", { class: "sender", part: "sender", dir: "auto" }, name) : tag ? h("span", {}, tag) : heading,
						this.#changed.has(item.seq) && !item.outcome && hint(this.#say("changed"), "changed"), name && tag, time),
					(name || tag) && heading,
					body && h("div", { class: "text", part: "body", dir: "auto" }, body),
					asks && button(() => this.#unfold(item.seq), { class: "link rest", part: "show-all", hidden: true, tabindex: node.tabIndex }, this.#say("showAll")),
				],
				!item.read && h("span", { class: "away" }, ` ${this.#say("unread")}`),
				item.actions && h("div", { class: "answers", part: "actions" }, item.actions.map(({ id, label }, at) => item.outcome
					? id === item.outcome.action && hint(`✓ ${label}`, "outcome")
					: button(() => this.#answer(item.seq, id), { class: at ? "act" : "act primary", part: at ? "action" : "action primary", tabindex: node.tabIndex }, label))),
				item.group?.more > 0 && button(() => this.#openThread(item.thread), { class: "link more", tabindex: node.tabIndex }, this.#summary(item.group))),
			dots)].filter(Boolean));
		this.#nodes.set(item.seq, { item, look, node, time, moment, day: dayOf(moment), asOf: this.#list.shownAsOf });
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
		this.#parts.feed.firstChild?.focus();
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

	#move(event) {
		const node = event.target.closest("article");
		if (event.key === "Enter" && event.target === node) {
			event.preventDefault();
			return this.#visit(this.#nodes.get(node.seq).item, event.ctrlKey || event.metaKey);
		}
		steps(event, [...this.#parts.feed.children], node)?.focus();
	}

	async #try(promise) {
		return Promise.resolve(promise).catch(() => null);
	}

	#link({ data }) {
		return safeAddress(data?.url, (this.getAttribute("link-origins") ?? "").split(/\s+/));
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
		if (!isDrag) this.#visit(this.#nodes.get(node.seq).item, isElsewhere, isLink, button);
	}

	async #visit({ group, ...item }, isElsewhere, isOpened, button) {
		const { seq } = item;
		const link = this.#link(item);
		if (button && !link) return;
		const marked = item.read ? null : this.#try(this.#client.mark("read", seq));
		if (isElsewhere && link) return isOpened || window.open(link, "_blank", "noopener");
		// What leads nowhere shows all of its text.
		if (!link) this.#unfold(seq);
		if (!this.#fire("traylog-open", item) || !link) return;
		await Promise.race([marked, new Promise((go) => setTimeout(go, 1000))]);
		location.assign(link);
	}

	#unfold(seq) {
		this.#nodes.get(seq)?.node.classList.toggle("whole", !this.#whole.delete(seq) && !!this.#whole.add(seq));
		this.#draw();
	}

	async #answer(seq, action) {
		const { asOf } = this.#nodes.get(seq);
		await this.#client.act(seq, action, undefined, asOf).then(() => this.#changed.delete(seq), (problem) => {
			// It shows what it is now, and is answered again.
			if (problem.error === "changedSince") this.#changed.add(seq), Object.assign(this.#nodes.get(seq) ?? {}, { item: null, look: "" });
		});
		this.#draw();
	}

	async #markAll() {
		const { client } = this;
		const n = this.#left;
		const { category } = this.#tabs[this.#tab].filter;
		const writes = this.#unread ? [client.mark("read", this.#unread.items.slice(0, 1000))]
			: (category ?? [undefined]).map((name) => client.markAll("read", { category: name }));
		this.#toast(this.#say("marked", { n }), () => writes.forEach((write) => this.#try(client.undo(write))));
		for (const write of writes) this.#try(write);
	}

	#toast(text, undo) {
		const { toast } = this.#parts;
		if (!toast) return;
		clearTimeout(this.#timers.toast);
		const hide = () => (toast.hidden = true);
		toast.hidden = false;
		toast.replaceChildren(h("bdi", {}, text));
		if (undo) toast.append(button(() => (hide(), undo()), { class: "link", part: "undo" }, this.#say("undo")));
		this.#timers.toast = setTimeout(hide, 10_000);
	}

	// Where its module did not come, the next click asks for it again.
	async #menu(kind, opener, item) {
		const p = this.#parts;
		const tools = this.#tools;
		p.menus ??= import("./menu.js").then(({ menus, icons }) => menus(tools, Object.assign(ICONS, icons)), () => (p.menus = null));
		const menus = await p.menus;
		if (opener) menus ? menus[kind](opener, item) : this.#toast(this.#say("failed"));
	}

	// What the modules of the panel work with.
	get #tools() {
		const { menu, panel, body } = this.#parts;
		return {
			bell: this, client: this.#client, root: this.#root, signal: this.#watch.signal, menu, panel, body, h, button, drawing, steps, address: safeAddress,
			has: (name) => this.#has(name), say: (...words) => this.#say(...words), now: () => this.#now, later: (...when) => this.#later(...when), tried: (work) => this.#try(work),
			toast: (...what) => this.#toast(...what), visit: (item) => this.#visit(item), hushed: () => this.#showQuiet(),
			keep: (first) => this.#keep(first),
			place: (opener) => {
				const { style } = this.#places.cssRules[1];
				const bottom = this.#align(menu, opener, style, this.#isRtl);
				style.top = `${Math.max(0, Math.min(bottom, innerHeight - menu.offsetHeight))}px`;
			},
		};
	}

	#later(days, hour) {
		const moment = new Date(this.#now);
		moment.setDate(moment.getDate() + days);
		moment.setHours(hour, 0, 0, 0);
		return moment;
	}

	async #showQuiet() {
		const client = this.#client;
		const known = await client?.get("mutes").catch(() => {});
		if (!known || client !== this.#client || !this.#parts.quiet) return;
		this.#isQuiet = known.mutes.some(({ all }) => all);
		this.#onTray();
	}

	// The settings take the place of the list.
	async #set() {
		const p = this.#parts;
		const { settings } = await import("./settings.js").catch(() => ({}));
		if (!settings) return this.#toast(this.#say("failed"));
		const back = () => {
			p.settings.hidden = true;
			p.header.hidden = p.tabs.hidden = p.body.hidden = false;
			this.#showAll();
			this.#showQuiet();
			p.header.querySelector("[part=settings]").focus();
		};
		const categories = this.#named(this.hasAttribute("categories") ? "categories" : "tabs");
		p.header.hidden = p.tabs.hidden = p.body.hidden = p.footer.hidden = true;
		p.settings.hidden = false;
		settings(p.settings, { ...this.#tools, categories, back });
	}

	#onTray() {
		const p = this.#parts;
		const tray = this.#client?.tray;
		if (!p.button) return;
		const n = this.#n;
		p.badge.hidden = !n;
		p.badge.textContent = n > 999 ? "999+" : n || "";
		p.quiet.ariaPressed = this.#isQuiet;
		p.icon.firstChild.firstChild.setAttribute("d", ICONS[this.#isQuiet ? "quiet" : "bell"]);
		this.#sign();
		this.#tabs.forEach(({ label, filter }, index) => {
			const count = filter.unread ? tray?.unread : this.#of(filter.category ?? []);
			fill(p.tabs.children[index], count ? `${label} ` : label, count && h("span", { class: "n" }, count));
		});
		this.#showAll();
		this.#entitle(n);
		if (!tray) return;
		if (!this.#asOf) this.#showQuiet();
		this.#asOf = new Date(this.#now);
		this.#tell(n);
		if (this.#wantsSee && this.#isOpen) {
			this.#wantsSee = false;
			this.#try(this.#client.see());
		}
	}

	get #n() {
		const tray = this.#client?.tray;
		return (this.getAttribute("count") === "unread" ? tray?.unread : tray?.unseen) ?? 0;
	}

	// What the closed bell knows: a number, that it has none, or that it cannot say.
	#sign() {
		const p = this.#parts;
		const { client } = this;
		const n = this.#n;
		const state = client?.state === "refused" ? (client.refusal?.status === 403 ? "noAccess" : "out") : client?.state === "offline" ? "away"
			: client?.tray ? "" : "unknown";
		const icon = { out: "user", noAccess: "lock", away: "offline" }[state];
		p.button.classList.toggle("unsure", !!state);
		p.button.part = ["button", client?.state ?? "wrong"].join(" ");
		p.sign.hidden = !icon && !this.#wrong;
		p.sign.firstChild.firstChild.setAttribute("d", ICONS[icon ?? "warning"]);
		const said = this.#wrong ? this.#say("wrong", { what: this.#wrong })
			: [n ? this.#say(this.getAttribute("count") === "unread" ? "count" : "unseen", { n }) : !state && this.#say("nothing"),
				state && this.#say(state), this.#isQuiet && this.#say("hushed")].filter(Boolean).join(", ");
		p.button.ariaLabel = `${this.#say("title")}, ${said}`;
	}

	#tell(n) {
		if (n > this.#told) {
			// By then an open panel has made it seen.
			this.#news = this.#parts.button.ariaLabel;
			for (const motion of this.#parts.badge.getAnimations()) motion.play();
			this.#timers.tell ??= setTimeout(() => {
				this.#timers.tell = undefined;
				this.#parts.live.textContent = this.#news;
			}, 1500);
		}
		this.#told = n;
	}

	#entitle(n) {
		const title = this.#has("page-title");
		const badge = this.#has("badge") || this.#has("system-notifications");
		if (!title && !badge && !this.#isEntitled) return;
		this.#isEntitled = true;
		const who = `${this.getAttribute("server")} ${this.#client?.user}`;
		import("./title.js").then(({ entitle }) => entitle(this, { who, n, title, badge })).catch(() => {});
	}

	get #isSignedOut() {
		return this.#client?.state === "refused" && this.#client.refusal?.status !== 403;
	}

	#onState() {
		const state = this.#client?.state;
		const isOut = this.#isSignedOut;
		// Once each time, so that an app can show its way to sign in.
		if (isOut && !this.#isOut) this.#fire("traylog-signin", { isAsked: false });
		this.#isOut = isOut || (this.#isOut && state !== "live");
		if (!this.#parts.banner) return;
		this.#sign();
		if (state === "live" && this.#isOpen && this.#failed) this.#load(this.#list?.loaded);
		this.#draw();
	}

	#warn() {
		const { banner } = this.#parts;
		const state = this.#client?.state;
		banner.hidden = !this.#list?.loaded || (state !== "offline" && state !== "refused");
		if (banner.hidden) return banner.replaceChildren();
		const time = this.#asOf && this.#clock(this.#asOf);
		const n = this.#client.pending;
		const isOut = this.#isSignedOut;
		const text = isOut ? this.#say("refused") : state === "refused" ? this.#say("blockedMore")
			: [this.#say(time ? "asOf" : "offline", { time }), n && this.#say("waits", { n })].filter(Boolean).join(" ");
		fill(banner, drawing(isOut ? "user" : state === "refused" ? "lock" : "offline"), h("bdi", {}, text),
			isOut ? this.#signIn("link") : this.#again());
	}
}

globalThis.customElements?.get("traylog-bell") ?? globalThis.customElements?.define("traylog-bell", TraylogBell);
export { TraylogBell };

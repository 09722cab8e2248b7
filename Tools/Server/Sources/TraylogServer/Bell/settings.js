// What a person has muted, and a row for each category that the page names. Loaded when the settings are opened.

const RULES = `
.set { display: flex; align-items: center; gap: .75rem; padding: .375rem 1rem; min-height: 2.75rem }
.set:last-child { margin-bottom: .5rem }
.set small { display: block; font-size: .85em; color: var(--tl-soft) }
.switch { padding: 2px; width: 2.5rem; height: 1.5rem; border-radius: 1rem; border: 1px solid color-mix(in srgb, var(--tl-ink) 55%, var(--tl-paper)); flex: none }
.switch::after { content: ""; height: 100%; aspect-ratio: 1; border-radius: 50%; background: color-mix(in srgb, var(--tl-ink) 55%, var(--tl-paper)) }
.switch[aria-checked=true] { background: var(--tl-accent); border-color: var(--tl-accent); justify-content: flex-end }
.switch[aria-checked=true]::after { background: var(--tl-on-accent) }
@media (forced-colors: active) {
	.switch::after { background: ButtonText; forced-color-adjust: none }
	.switch[aria-checked=true] { forced-color-adjust: none; background: Highlight; border-color: Highlight }
	.switch[aria-checked=true]::after { background: HighlightText }
}
`;

let sheet;

/** Draws the settings into `place`, and again after each change. */
export async function settings(place, { categories, back, ...tools }) {
	const { client, has, say, h, button, drawing } = tools;
	const root = place.getRootNode();
	if (!sheet) (sheet = new CSSStyleSheet()).replaceSync(RULES);
	if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
	const titles = {};
	const system = has("system-notifications") && (await import("./system.js").catch(() => null));
	let mutes = null;

	const change = async (...works) => {
		// What was refused is told by the client's `problem`.
		await Promise.allSettled(works.map((work) => work()));
		await load();
	};
	const time = (until) => new Date(until).toLocaleString(tools.panel.lang, { dateStyle: "medium", timeStyle: "short" });
	const until = (mute) => mute?.until && h("small", {}, say("until", { time: time(mute.until) }));
	const row = (label, note, isOn, work) => h("div", { class: "set", part: "setting" },
		h("div", { class: "grow" }, h("span", { dir: "auto" }, label), note),
		button(work, { class: "switch", role: "switch", part: "switch", "aria-checked": String(isOn), "aria-label": label }));
	const group = (title, rows) => rows.length && h("div", { role: "group", "aria-label": title }, h("div", { class: "day" }, title), rows);

	function category({ label, categories }) {
		const found = mutes.filter((mute) => categories.includes(mute.category));
		const isOn = !found.length;
		return row(label, until(found[0]), isOn, () => change(
			...categories.map((name) => () => client[isOn ? "mute" : "unmute"]({ category: name }))));
	}

	function muted(mute) {
		const [kind] = ["thread", "topic", "category"].filter((kind) => mute[kind] !== undefined);
		const name = mute[kind];
		return h("div", { class: "set", part: "setting" },
			h("div", { class: "grow" }, h("span", { dir: "auto" }, titles[name] ?? name), h("small", {}, say(kind)), until(mute)),
			button(() => change(() => client.unmute({ [kind]: name })), { class: "act", part: "unmute", "aria-label": `${say("unmute")}: ${titles[name] ?? name}` }, say("unmute")));
	}

	function draw(...rest) {
		const at = [...place.querySelectorAll("button")].indexOf(root.activeElement);
		place.replaceChildren(
			h("div", { class: "header" }, button(back, { class: "icon turns", "aria-label": say("back"), title: say("back") }, drawing("back")),
				h("div", { class: "name grow" }, say("settings"))),
			...rest.filter(Boolean));
		const buttons = place.querySelectorAll("button");
		buttons[Math.max(0, Math.min(at, buttons.length - 1))].focus();
	}

	async function load() {
		try {
			({ mutes } = await client.get("mutes"));
		} catch {
			return draw(h("div", { class: "state" }, drawing("offline"), h("p", { class: "lead" }, say("failed")), button(load, { class: "link" }, say("retry"))));
		}
		const all = mutes.find((mute) => mute.all);
		const named = new Set(categories.flatMap((one) => one.categories));
		const others = mutes.filter((mute) => !mute.all && !named.has(mute.category));
		// A thread's name is for programs: its newest notification says what it is about.
		await Promise.all(others.filter(({ thread }) => thread !== undefined && !(thread in titles)).slice(0, 20).map(async ({ thread }) => {
			const page = await client.get(`inbox?${new URLSearchParams({ thread, limit: 1 })}`).catch(() => null);
			titles[thread] = page?.items[0]?.title ?? thread;
		}));
		draw(
			row(say("quiet"), until(all), !!all, () => change(() => client[all ? "unmute" : "mute"]({ all: true }))),
			system && system.row(tools, load),
			group(say("categories"), categories.map(category)),
			group(say("muted"), others.map(muted)) || (!categories.length && h("p", { class: "note" }, say("mutedNone"))));
	}

	draw(...[1, 2, 3].map(() => h("div", { class: "bone" })));
	await load();
}

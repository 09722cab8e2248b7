// New notifications as the system shows them, while no page of the person is in front. Loaded by the first bell with `system-notifications`.

// More than these at once are shown as one, with the number.
const MOST = 3;
const watched = new WeakSet();
// Whoever was asked is not asked again by this page, whatever they said.
let isAsked = false;

const NAME = "system-notifications";
const permission = () => (globalThis.isSecureContext && globalThis.Notification?.permission) || "none";

async function ask() {
	isAsked = true;
	await Notification.requestPermission().catch(() => {});
}

// Holds a lock until the signal, and at once where a browser refuses it.
async function hold(name, mode, signal, held) {
	try {
		await navigator.locks.request(name, { mode, signal }, () => {
			held();
			return new Promise((go) => signal.addEventListener("abort", go));
		});
	} catch {
		if (!signal.aborted) held();
	}
}

/** Shows what comes for the bell's client from now on, and offers it in the panel to who was not asked yet. */
export function system({ bell, client, signal, ...tools }) {
	if (client && !watched.has(client)) {
		watched.add(client);
		watch({ bell, client, signal, ...tools });
	}
	offer(tools);
}

function watch({ bell, client, signal, say, has, visit, address }) {
	const shown = new Set();
	let name = null;
	// Positions: what was heard of, and what needs no showing any more.
	let newest = 0;
	let done = 0;
	let asOf = 0;
	let isMine = false;
	let life = null;
	let front = null;
	let work = Promise.resolve();

	const on = (target, event, does) => target.addEventListener(event, does, { signal });
	on(client, "tray", hear);
	on(document, "visibilitychange", turn);
	// A frozen page must leave it to another.
	on(document, "freeze", leave);
	on(window, "pagehide", leave);
	on(document, "resume", join);
	on(window, "pageshow", join);
	signal.addEventListener("abort", () => (leave(), clear()));
	hear();

	// Such a page keeps its stream when it is hidden.
	function isAllowed() {
		return (client.background = has(NAME) && permission() === "granted");
	}

	// One page shows them: the one that has the lock. Those in front share another, so that it can tell whether there is any.
	function join() {
		if (life || !name) return;
		life = new AbortController();
		hold(`${name} shows`, "exclusive", life.signal, () => (isMine = true));
		turn();
	}

	function leave() {
		life?.abort();
		life = null;
		isMine = false;
		turn();
	}

	function turn() {
		isAllowed();
		front?.abort();
		front = life && !document.hidden ? new AbortController() : null;
		if (front) hold(`${name} front`, "shared", front.signal, () => {});
	}

	function hear() {
		const { tray } = client;
		if (!tray) return;
		const position = tray.newestCounted ?? 0;
		// A store that was restored from a copy begins anew.
		if (tray.asOf < asOf) newest = done = position;
		newest = Math.max(newest, position);
		asOf = tray.asOf;
		if (!name) {
			name = `traylog-system ${new URL(bell.getAttribute("server") ?? "", document.baseURI)} ${client.user}`;
			join();
		}
		if (isAllowed() && isMine && document.hidden) work = work.then(look).catch(() => {});
		else done = newest;
		if (!tray.unseen) clear();
	}

	function clear() {
		for (const one of shown) one.close();
		shown.clear();
	}

	async function look() {
		const upTo = newest;
		if (upTo <= done) return;
		const { items } = await client.get("inbox?unseen=true&limit=50");
		const fresh = items.filter(({ position, muted }) => position > done && !muted).reverse();
		const show = () => {
			if (fresh.length > MOST) {
				draw(say("unseen", { n: client.tray.unseen }), { body: fresh.slice(-MOST).map(text).join("\n"), tag: name }, () => bell.open());
			} else for (const item of fresh) draw(text(item), {
				body: item.title ? item.body?.slice(0, 500) : undefined, tag: `${name} ${item.seq}`, icon: address(item.data?.image) ?? undefined,
				silent: item.level === "passive", requireInteraction: item.level === "critical",
			}, () => (item.data?.url ? visit(item) : bell.open()));
		};
		done = Math.max(upTo, ...fresh.map(({ position }) => position));
		try {
			await navigator.locks.request(`${name} front`, { ifAvailable: true }, (lock) => lock && show());
		} catch {
			show();
		}
	}

	const text = ({ title, body }) => title || body?.split("\n")[0] || say("title");

	function draw(title, options, open) {
		try {
			const one = new Notification(title, { dir: "auto", ...options });
			one.onclick = () => (focus(), one.close(), open());
			shown.add(one);
		} catch {
			// Phones show only what a service worker of the app asks for.
			navigator.serviceWorker?.getRegistration().then((worker) => worker?.showNotification(title, options)).catch(() => {});
		}
	}
}

function offer({ panel, body, say, h, button, drawing }) {
	const end = () => (isAsked = line.hidden = true, panel.focus());
	const line = h("div", { class: "banner", part: "system" }, drawing("bell"), h("bdi", {}, say("system")),
		button(() => (ask(), end()), { class: "link", part: "turn-on", "aria-label": `${say("turnOn")}: ${say("system")}` }, say("turnOn")),
		button(end, { class: "icon", "aria-label": say("close"), title: say("close") }, drawing("close")));
	const draw = () => (line.hidden = isAsked || permission() !== "default");
	panel.addEventListener("beforetoggle", draw);
	draw();
	body.prepend(line);
}

/** The row of the settings, which calls `done` after an answer; null where there is nothing to say. */
export function row({ has, say, h, button }, done) {
	const now = permission();
	if (!has(NAME) || now === "none") return null;
	const label = `${say("turnOn")}: ${say("system")}`;
	return h("div", { class: "set", part: "setting" },
		h("div", { class: "grow" }, say("system"), now !== "default" && h("small", {}, say(now === "granted" ? "turnedOn" : "denied"))),
		now === "default" && button(() => ask().then(done), { class: "act", part: "turn-on", "aria-label": label }, say("turnOn")));
}

// A person's tray in a web page.

const FIRST_WAIT = 1000;
const SILENCE = 45_000;
const DOUBT = 6000;
const KEPT = 1000;
const TIMEOUT = 30_000;
const LONGEST = 600_000;
// How long a write waits after what may pass by itself, as a device's outbox does.
const PASSING = 5000;
// How often a tab asks whether the leading one is there, and how long that one may take to answer.
const PULSE = 5000;
const GRACE = 4000;
// A browser opens six connections to a server of HTTP/1.1: this many streams leave some for everything else.
const STREAMS = 4;

export class TrayProblem extends Error {
	constructor({ error = "unknown", status = 0, title = error, detail = title, ...more } = {}) {
		super(detail);
		Object.assign(this, more, { name: "TrayProblem", error, status, detail });
	}
}

const signedOut = () => new TrayProblem({ error: "signedOut", status: 401, detail: "Sign in again." });
const lost = () => new TrayProblem({ error: "unreachable", detail: "The server cannot be reached." });
const isRefusal = ({ status }) => status === 401 || status === 403;
const isPassing = ({ status }) => !status || status === 429 || status >= 500;
const isListed = (item) => !(item.archived || item.snoozedUntil || item.deleted || item.silent);
const isAwaiting = (item) => item.actions && !item.outcome;
const isOf = (item, { thread, category }) =>
	(thread === undefined || (item.thread ?? null) === thread) && (!category?.length || [category].flat().includes(item.category));
const newId = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

function tally(tray, item, sign) {
	if (!isListed(item)) return;
	tray.total += sign;
	if (item.muted) return;
	if (isAwaiting(item)) tray.awaiting += sign;
	const category = item.category && (tray.categories[item.category] ??= { unseen: 0, unread: 0 });
	for (const [name, mark] of [["unseen", "seen"], ["unread", "read"]]) {
		if (item[mark]) continue;
		tray[name] = Math.max(0, tray[name] + sign);
		if (category) category[name] = Math.max(0, category[name] + sign);
	}
}

const MARKS = {
	seen: { seen: true },
	read: { seen: true, read: true },
	unread: { read: false },
	archived: { archived: true },
	unarchived: { archived: false },
	deleted: { deleted: true },
	restored: { deleted: false },
};

class Inbox {
	items = [];
	end = false;
	loaded = false;
	hold = false;
	#client;
	#filter;
	#isGrouped;
	#size;
	#cursor = null;
	// Items below this position come with later pages.
	#last = 0;
	#asOf = 0;
	#isStale = false;
	// The server's items, each with the seq it is as of; `items` adds this page's newer writes to them.
	#known = new Map();
	#waiting = [];
	#work = null;

	constructor(client, { pageSize = 20, group, ...filter }) {
		this.#client = client;
		this.#isGrouped = group;
		this.#filter = filter;
		this.#size = Math.min(Math.max(pageSize, 1), 100);
	}

	get waiting() {
		return this.#waiting.length;
	}

	get asOf() {
		return this.#isStale ? 0 : this.#asOf;
	}

	get shownAsOf() {
		return this.#asOf;
	}

	showNew() {
		this.show(false);
	}

	async loadMore() {
		if (this.end) return;
		await this.#once("more", async () => {
			const page = await this.#fetch(this.#cursor, this.#size);
			this.#asOf ||= page.asOf;
			this.#add(page, this.#known);
			this.#client.replay(this, page.asOf);
		});
	}

	refresh() {
		this.#isStale = true;
		return this.#once("refresh", async () => {
			const wanted = Math.min(Math.max(this.items.length, this.#size), KEPT);
			const known = new Map();
			const pages = [];
			let count = 0;
			let cursor = null;
			do {
				const page = await this.#fetch(cursor, Math.min(100, wanted));
				pages.push(page);
				count += page.items.length;
				cursor = page.next;
			} while (cursor && count < wanted);
			for (const page of pages) this.#add(page, known);
			this.#known = known;
			this.#asOf = Math.min(...pages.map((page) => page.asOf));
			this.#isStale = false;
			this.#client.replay(this, this.#asOf);
		});
	}

	renew(asOf) {
		const isBehind = () => this.loaded && this.asOf < asOf;
		// A refresh that is under way may have begun too early.
		if (isBehind()) this.refresh().then(() => isBehind() && asOf < Infinity && this.refresh()).catch(() => {});
	}

	close() {
		this.#client.forget(this);
	}

	async #once(kind, work) {
		while (this.#work) {
			if (this.#work.kind === kind) return this.#work.done;
			await this.#work.done.catch(() => {});
		}
		const done = work().finally(() => {
			this.#work = null;
			this.#client.changed(this);
		});
		this.#work = { kind, done };
		return done;
	}

	async #fetch(cursor, limit) {
		if (this.#isGrouped) return (await import("./groups.js")).groups(this.#client, cursor, limit);
		const { thread, category, ...more } = this.#filter;
		const query = new URLSearchParams({ limit });
		for (const name in more) if (more[name]) query.set(name, more[name]);
		if (thread === null) query.set("unthreaded", true);
		else if (thread !== undefined) query.set("thread", thread);
		for (const name of [category ?? []].flat()) query.append("category", name);
		if (cursor) query.set("cursor", cursor);
		return this.#client.get(`inbox?${query}`);
	}

	#add({ items, next, asOf }, known) {
		for (const item of items) this.#learn(known, item, asOf);
		this.#cursor = next;
		this.#last = (next && items.at(-1)?.position) || 0;
		this.end = !next;
		this.loaded = true;
	}

	#learn(known, item, asOf) {
		const old = this.#known.get(item.seq);
		if (!(known.get(item.seq)?.asOf > asOf)) known.set(item.seq, { item, asOf, shown: old?.shown });
	}

	#holds(item) {
		const { view = "inbox", unread, unseen, awaiting } = this.#filter;
		if (item.deleted || item.silent) return false;
		if (view === "inbox" ? !isListed(item) : view === "archived" ? !item.archived : !item.snoozedUntil) return false;
		if ((unread && item.read) || (unseen && item.seen) || (awaiting && !isAwaiting(item))) return false;
		return isOf(item, this.#filter);
	}

	merge({ asOf, items, gone }) {
		if (!this.loaded) return;
		const { text, actor, level, since, until } = this.#filter;
		// What the server alone can tell is asked anew.
		if (this.#isGrouped || text || actor || level || since || until) return this.renew(asOf);
		for (const seq of gone) this.#known.delete(seq);
		for (const item of items) if (this.#known.has(item.seq) || item.position >= this.#last) this.#learn(this.#known, item, asOf);
		this.#asOf = Math.max(this.#asOf, asOf);
	}

	show(hold = this.hold) {
		const items = [];
		for (const [seq, known] of this.#known) {
			const item = this.#client.overlay(known.item, Math.max(known.asOf, this.#asOf));
			// The same object as long as it shows the same.
			if (item !== known.shown && JSON.stringify(item) !== JSON.stringify(known.shown)) known.shown = item;
			if (this.#holds(item)) items.push(known.shown);
			else if (item === known.item) this.#known.delete(seq);
		}
		const place = ({ group, position }) => group?.position ?? position;
		items.sort((a, b) => place(b) - place(a));
		const top = (hold && !this.#isGrouped && this.items[0]?.position) || Infinity;
		const shown = new Set(this.items.map((item) => item.seq));
		const waits = (item) => item.position > top && !shown.has(item.seq);
		this.#waiting = items.filter(waits);
		this.items = items.filter((item) => !waits(item));
		this.#client.changed(this);
	}
}

export class TrayClient extends EventTarget {
	background = false;
	#server;
	#user;
	#source;
	#token = null;
	#asking = null;
	#refusal = null;
	#denied = null;
	#state = "connecting";
	#tray = null;
	#base = null;
	#least = 0;
	#writes = new Set();
	#own = new WeakMap();
	#lane = Promise.resolve();
	#waiting = new Set();
	#inboxes = new Set();
	#recent = [];
	#lastEvent = null;
	#isOwn;
	#name = null;
	#channel = null;
	#isAlone = false;
	#life = null;
	#turn = null;
	#pulse = 0;
	#grace = 0;
	#skew = 0;
	#tries = 0;
	#wake = () => {};
	#sleep = 0;
	#doubt = 0;
	#check = 0;
	#heard = 0;

	constructor({ server, user, token }) {
		super();
		const { protocol, username, origin, pathname } = new URL(server || "//", globalThis.document?.baseURI);
		if (!/^https?:$/.test(protocol) || username) throw new TypeError(`${server} is no address of a server.`);
		this.#server = origin + pathname.replace(/\/+$/, "");
		this.#user = user || null;
		this.#isOwn = !user;
		this.#source = token;
	}

	get tray() {
		return this.#tray;
	}

	get state() {
		return this.#state;
	}

	get user() {
		return this.#user;
	}

	get now() {
		return Date.now() + this.#skew;
	}

	get refusal() {
		return this.#state === "refused" ? this.#denied : null;
	}

	get #isAsleep() {
		return document.hidden && !this.background;
	}

	get pending() {
		return [...this.#writes].filter(({ seq }) => !seq).length;
	}

	start() {
		if (this.#life) return;
		this.#life = new AbortController();
		const { signal } = this.#life;
		const on = (target, name, work) => target.addEventListener(name, work, { signal });
		const again = () => this.retry();
		const leave = () => this.#leave();
		on(window, "online", again);
		on(window, "offline", () => this.#turn?.lost?.());
		on(document, "visibilitychange", () => {
			clearTimeout(this.#sleep);
			if (document.hidden) this.#sleep = setTimeout(() => this.#isAsleep && this.#turn?.abort(), 300_000);
			else again();
		});
		// A page that is frozen or kept for "back" must not keep the stream from the others.
		on(document, "freeze", leave);
		on(window, "pagehide", leave);
		on(document, "resume", again);
		on(window, "pageshow", again);
		this.#join(signal);
	}

	stop() {
		clearTimeout(this.#sleep);
		clearTimeout(this.#doubt);
		clearTimeout(this.#check);
		this.#leave();
		this.#life?.abort();
		this.#life = this.#name = null;
		this.#become("connecting");
	}

	retry() {
		this.#refusal = null;
		this.#wake();
		this.#sendAgain();
		if (this.#name) this.#meet();
	}

	inbox(options = {}) {
		const inbox = new Inbox(this, options);
		this.#inboxes.add(inbox);
		return inbox;
	}

	threads({ limit = 20, cursor } = {}) {
		return this.get(`threads?${new URLSearchParams({ limit, ...(cursor && { cursor }) })}`);
	}

	see(upTo = this.#tray?.newest ?? 0) {
		return this.#all("seen", {}, upTo, ["POST", "seen", { upTo }]);
	}

	mark(as, items) {
		const seqs = new Set([items].flat().map((item) => item.seq ?? item));
		return this.#change(["POST", "marks", { as, items: [...seqs] }], (item) => seqs.has(item.seq) && MARKS[as]);
	}

	markAll(as, { thread, category, upTo = this.#tray?.newest ?? 0 } = {}) {
		const only = { ...(thread !== undefined && { thread }), ...(category && { category }) };
		return this.#all(as, only, upTo, ["POST", "marks/all", { as, ...only, upTo }]);
	}

	snooze(seq, until) {
		const moment = new Date(until).toISOString();
		return this.#change(["PUT", `items/${seq}/snooze`, { until: moment }], (item) => item.seq === seq && { snoozedUntil: moment });
	}

	wake(seq) {
		return this.#change(["DELETE", `items/${seq}/snooze`], (item) =>
			item.seq === seq && { snoozedUntil: undefined, seen: false, read: false });
	}

	mute({ until, ...what }) {
		return this.#change(["PUT", this.#muted(what), until && { until: new Date(until).toISOString() }]);
	}

	unmute(what) {
		return this.#change(["DELETE", this.#muted(what)]);
	}

	act(seq, action, note, asOf = Math.min(...[...this.#inboxes].map((inbox) => inbox.asOf), this.#inboxes.size ? Infinity : this.tray?.asOf ?? 0)) {
		return this.#change(["POST", `items/${seq}/action`, { action, asOf, ...(note && { note }) }], (item) =>
			item.seq === seq && !item.outcome && { seen: true, read: true, outcome: { action, note } });
	}

	undo(what) {
		const write = this.#own.get(what);
		if (!write) return this.#change(["POST", "undo", { event: what }]);
		// What is on its way shows until the server has taken it back, so that nothing shows twice.
		if (!write.isSent || this.#waiting.size) {
			write.isUndone = true;
			this.#writes.delete(write);
			this.#show();
		}
		return what.then((result) => (result.seq ? this.undo(result.seq) : result));
	}

	async get(path) {
		const headers = this.#least ? { "Traylog-Min-Seq": this.#least } : {};
		return (await this.#request("GET", path, headers)).json();
	}

	overlay(item, asOf) {
		for (const { patch, seq } of this.#writes) {
			const change = (!seq || asOf < seq) && patch(item);
			if (change) item = { ...item, ...change };
		}
		return item;
	}

	replay(inbox, asOf) {
		for (const event of this.#recent) if (event.asOf > asOf) inbox.merge(event);
		inbox.show();
	}

	changed(inbox) {
		if (this.#inboxes.has(inbox)) this.dispatchEvent(new CustomEvent("items", { detail: inbox }));
	}

	forget(inbox) {
		this.#inboxes.delete(inbox);
	}

	#muted({ thread, category, topic, all }) {
		if (all) return "mutes/all";
		const [kind, name] = thread !== undefined ? ["threads", thread] : topic !== undefined ? ["topics", topic] : ["categories", category];
		return `mutes/${kind}/${encodeURIComponent(name)}`;
	}

	async #bearer(old) {
		if (this.#refusal) throw this.#refusal;
		if (typeof this.#source !== "function") {
			if (old) throw null;
			return this.#source;
		}
		if (this.#token && this.#token !== old) return this.#token;
		this.#asking ??= (async () => this.#source())().then((token) => {
			if (!token || typeof token !== "string") throw signedOut();
			return (this.#token = token);
		}).finally(() => (this.#asking = null));
		return this.#asking;
	}

	async #request(method, path, headers = {}, body, signal, user = this.#user) {
		let refused = null;
		for (let token; ;) {
			let answer;
			try {
				token = await this.#bearer(token);
			} catch (cause) {
				if (refused) throw this.#refuse(refused);
				// A page where a token should be is the one to sign in at.
				if (cause instanceof SyntaxError) cause = signedOut();
				if (!(cause instanceof TrayProblem)) throw lost();
				throw isRefusal(cause) ? this.#refuse(cause) : cause;
			}
			try {
				answer = await fetch(`${this.#server}/v1/users/${encodeURIComponent(user ?? "me")}/${path}`, {
					method, body, signal: signal ?? AbortSignal.timeout(TIMEOUT), cache: "no-store", credentials: "omit", keepalive: method !== "GET",
					headers: { ...headers, Authorization: `Bearer ${token}` },
				});
			} catch {
				throw lost();
			}
			const sent = Date.parse(answer.headers.get("Date"));
			if (sent) this.#skew = sent - Date.now();
			if (answer.ok) return answer;
			const problem = new TrayProblem({
				...(await answer.json().catch(() => {})), status: answer.status,
				retryAfter: Math.max(0, Math.min(answer.headers.get("Retry-After") * 1000 || 0, LONGEST)),
			});
			if (problem.status !== 401) throw problem;
			if (refused) throw this.#refuse(problem);
			refused = problem;
		}
	}

	#refuse(problem) {
		this.#refusal = problem;
		this.#become("refused", problem);
		return problem;
	}

	// Shown at once, and sent with one key, so that it is stored once.
	#change(request, patch = () => null, predict) {
		const write = { patch, seq: 0 };
		this.#predict(patch, predict);
		this.#writes.add(write);
		this.#show();
		const stored = this.#store(write, this.#lane, request);
		this.#lane = stored.catch(() => {});
		this.#own.set(stored, write);
		return stored;
	}

	// One after the other, as they were made.
	async #store(write, before, [method, path, body]) {
		const headers = { "Idempotency-Key": newId(), ...(body && { "Content-Type": "application/json" }) };
		try {
			await before;
			if (write.isUndone) return { result: "unchanged" };
			write.isSent = true;
			const answer = await this.#send(method, path, headers, body && JSON.stringify(body));
			const result = await answer.json();
			write.seq = +answer.headers.get("Traylog-Seq") || result.seq || 1;
			this.#least = Math.max(this.#least, write.seq);
			if (this.#writes.size > 100) this.#writes.delete([...this.#writes].find(({ seq }) => seq));
			if (result.tray) this.#know(result.tray);
			// The stream says nothing where another's change took this one back at once.
			clearTimeout(this.#check);
			this.#check = setTimeout(() => this.#catchUp(), path === "undo" ? 0 : FIRST_WAIT);
			return result;
		} catch (cause) {
			const problem = cause instanceof TrayProblem ? cause : lost();
			this.#writes.delete(write);
			this.#reload();
			this.dispatchEvent(new CustomEvent("problem", { detail: problem }));
			throw problem;
		} finally {
			this.#show();
		}
	}

	// Waits for a connection and for a sign-in; what may pass by itself is tried three times more.
	async #send(method, path, headers, body) {
		for (let tries = 0, waits = 0; ;) {
			try {
				return await this.#request(method, path, headers, body);
			} catch (problem) {
				const isAway = !problem.status || (problem.status === 401 && this.#life);
				if (!isAway && (!isPassing(problem) || tries++ === 3)) throw problem;
				await new Promise((go) => {
					const wait = isAway ? Math.min(FIRST_WAIT * 2 ** waits++, 30_000) : Math.max(PASSING, problem.retryAfter || 0);
					const again = () => (clearTimeout(timer), this.#waiting.delete(again), go());
					const timer = setTimeout(again, wait);
					if (isAway) this.#waiting.add(again);
				});
			}
		}
	}

	#sendAgain() {
		for (const again of [...this.#waiting]) again();
	}

	#all(as, only, upTo, request) {
		if (!upTo) return Promise.resolve({ result: "unchanged", tray: this.#tray });
		const patch = (item) => item.position <= upTo && isOf(item, only) && (as === "seen" || as === "read" || isListed(item)) && MARKS[as];
		return this.#change(request, patch, (tray) => {
			if (Object.keys(only).length || upTo < (tray.newest ?? 0)) return;
			tray.unseen = 0;
			if (as !== "seen") tray.unread = 0;
			for (const counts of Object.values(tray.categories)) Object.assign(counts, { unseen: 0 }, as !== "seen" && { unread: 0 });
		});
	}

	#predict(patch, predict) {
		if (!this.#tray) return;
		const tray = structuredClone(this.#tray);
		const items = new Map([...this.#inboxes].flatMap((inbox) => inbox.items.map((item) => [item.seq, item])));
		for (const item of predict ? [] : items.values()) {
			const change = patch(item);
			if (!change) continue;
			tally(tray, item, -1);
			tally(tray, { ...item, ...change }, 1);
		}
		predict?.(tray);
		tray.isSeen = !tray.unseen;
		this.#set(tray);
	}

	#know(tray, isLive) {
		if (isLive) {
			clearTimeout(this.#doubt);
			this.#heard = tray.asOf;
		}
		if (tray.asOf >= Math.max(this.#least, this.#base?.asOf ?? 0)) {
			this.#base = tray;
			this.#show();
		} else if (isLive) {
			// The store was restored from a copy, if it stays behind.
			this.#doubt = setTimeout(() => {
				this.#least = 0;
				this.#base = null;
				this.#writes.clear();
				this.#recent = [];
				this.#know(tray);
				this.#reload();
			}, DOUBT);
		}
	}

	#show() {
		if (this.#base && !this.pending) this.#set(this.#base);
		const lists = [...this.#inboxes];
		for (const write of this.#writes) if (write.seq && lists.every(({ asOf }) => asOf >= write.seq)) this.#writes.delete(write);
		for (const inbox of lists) inbox.show();
	}

	#set(tray) {
		if (JSON.stringify(tray) === JSON.stringify(this.#tray)) return;
		this.#tray = tray;
		this.dispatchEvent(new Event("tray"));
	}

	#become(state, denied = null) {
		if (state === this.#state && denied?.status === this.#denied?.status) return;
		this.#state = state;
		this.#denied = denied;
		if (state === "live") this.#sendAgain();
		this.dispatchEvent(new Event("state"));
	}

	#hear({ tray, items, state, denied, tries = 0, isFirst, hello, ping }) {
		if (hello) this.#wake();
		if (hello || ping) {
			// By a timer: a frozen page still gets messages, but neither timers nor its stream.
			if (this.#turn?.leads) setTimeout(() => this.#channel?.postMessage(hello ? { ...this.#standing, tray: this.#base ?? undefined, isFirst: true } : {}));
			return;
		}
		clearTimeout(this.#grace);
		if (items) this.#merge(items);
		if (tray) {
			// A list that could not be read again is tried once more with each tray.
			this.#reload(isFirst ? tray.asOf : 1);
			this.#know(tray, true);
		}
		if (state) {
			this.#tries = tries;
			if (state === "live") this.#refusal = null;
			this.#become(state, denied && new TrayProblem(denied));
		}
	}

	// Problems cross between tabs as what they say.
	get #standing() {
		const { error, status, detail } = this.#denied ?? {};
		return { state: this.#state, tries: this.#tries, ...(status && { denied: { error, status, detail } }) };
	}

	async #catchUp() {
		this.#reload(this.#least);
		if (this.#heard >= this.#least) return;
		const tray = await this.get("tray").catch(() => {});
		if (tray) this.#know(tray);
	}

	#reload(asOf = Infinity) {
		for (const inbox of this.#inboxes) inbox.renew(asOf);
	}

	#merge(event) {
		if (event.reload) {
			this.#recent = [];
			this.#reload(event.asOf);
			return;
		}
		this.#recent.push(event);
		if (this.#recent.length > 100) this.#recent.shift();
		for (const inbox of this.#inboxes) inbox.merge(event);
		this.#show();
	}

	#tell(message) {
		this.#channel?.postMessage(message);
		this.#hear(message);
	}

	async #join(signal) {
		for (let tries = 0; !this.#user; tries++) {
			try {
				const tray = await this.get("tray");
				if (signal.aborted) return;
				this.#user = tray.user;
				this.#know(tray);
			} catch (problem) {
				if (signal.aborted) return;
				isRefusal(problem) ? this.#become("refused", problem) : this.#become("offline");
				await this.#wait(tries, problem, signal);
			}
		}
		if (signal.aborted) return;
		this.#name = `traylog ${this.#server} ${this.#user}`;
		this.#meet();
	}

	// Joins the tabs that show the same.
	#meet() {
		if (!this.#channel && !this.#isAlone && navigator.locks) {
			try {
				this.#channel = new BroadcastChannel(this.#name);
				this.#channel.onmessage = ({ data }) => this.#hear(data);
			} catch {
				// Where site data is blocked, each tab is for itself.
			}
		}
		if (!this.#turn) this.#queue();
		clearInterval(this.#pulse);
		this.#pulse = setInterval(() => this.#isAsleep || this.#ask({ ping: true }), PULSE);
		this.#ask({ hello: true });
	}

	#leave() {
		clearInterval(this.#pulse);
		clearTimeout(this.#grace);
		this.#turn?.abort();
		this.#channel?.close();
		this.#turn = this.#channel = null;
	}

	// A leading tab that does not answer has stopped, whatever stopped it, and another takes its place.
	#ask(message) {
		if (!this.#channel || this.#turn?.leads) return;
		this.#channel.postMessage(message);
		clearTimeout(this.#grace);
		this.#grace = setTimeout(() => {
			if (this.#isAsleep || this.#turn?.leads) return;
			this.#turn?.abort();
			this.#queue(true);
		}, GRACE);
	}

	// The tab that holds the lock has the stream.
	async #queue(steal = false) {
		const turn = (this.#turn = new AbortController());
		const { signal } = turn;
		// A page that is about to freeze gives its locks up at once, not when its requests have ended.
		turn.over = new Promise((go) => signal.addEventListener("abort", go));
		const work = () => {
			turn.leads = true;
			return Promise.race([this.#lead(turn), turn.over]);
		};
		let isAlone = !this.#channel;
		try {
			if (!isAlone) await navigator.locks.request(this.#name, steal ? { steal } : { signal }, work);
		} catch {
			isAlone = !turn.leads;
		}
		if (isAlone && !signal.aborted) {
			this.#isAlone = true;
			this.#channel?.close();
			this.#channel = null;
			await work();
		}
		const isStolen = !signal.aborted;
		turn.abort();
		if (this.#turn !== turn) return;
		this.#turn = null;
		if (isStolen) this.#queue();
	}

	async #lead(turn) {
		const { signal } = turn;
		while (!signal.aborted) {
			let problem = null;
			const began = performance.now();
			try {
				await this.#connect(turn);
				if (performance.now() - began > FIRST_WAIT) continue;
			} catch (cause) {
				problem = cause instanceof TrayProblem ? cause : lost();
			}
			if (signal.aborted) return;
			if (problem && isRefusal(problem)) this.#become("refused", problem);
			else if (problem || this.#tries) this.#become("offline");
			const tries = this.#tries++;
			this.#channel?.postMessage(this.#standing);
			if (problem?.status === 403 && this.#isOwn) this.#checkUser();
			await this.#wait(tries, problem, signal);
			// Another tab may reach what this one cannot.
			if (problem) return;
		}
	}

	// The token's user may have become another one.
	async #checkUser() {
		const tray = await this.#request("GET", "tray", {}, undefined, undefined, null).then((answer) => answer.json()).catch(() => {});
		if (tray && tray.user !== this.#user) this.dispatchEvent(new Event("user"));
	}

	// Where other people's streams have taken the connections, the tray is asked for now and then.
	#connect(turn, stream = 0) {
		if (!this.#channel) return this.#listen(turn);
		if (stream === STREAMS) return this.#poll(turn);
		return navigator.locks.request(`traylog-stream ${stream} ${this.#server}`, { ifAvailable: true }, (lock) => lock
			? Promise.race([this.#listen(turn), turn.over])
			: this.#connect(turn, stream + 1));
	}

	async #poll({ signal }) {
		const tray = await this.get("tray");
		if (signal.aborted) return;
		this.#tell({ tray, isFirst: tray.revision !== this.#base?.revision, state: "live" });
		await this.#pause(PULSE, signal);
	}

	async #wait(tries, problem, signal) {
		const [least, most] = problem && isRefusal(problem) ? [5 * FIRST_WAIT, LONGEST] : [FIRST_WAIT, 30_000];
		await this.#pause(problem?.retryAfter || Math.min(least * 2 ** tries, most) * (0.5 + Math.random() * 0.3), signal, !problem?.retryAfter);
		this.#refusal = null;
	}

	async #pause(wait, signal, canWake = true) {
		await new Promise((go) => {
			const timer = setTimeout(go, wait);
			const end = () => (clearTimeout(timer), go());
			if (canWake) this.#wake = end;
			signal.addEventListener("abort", end, { once: true });
		});
		this.#wake = () => {};
	}

	async #listen(turn) {
		// Its lock may have come after its end.
		if (turn.signal.aborted) return;
		const attempt = new AbortController();
		const abort = () => attempt.abort();
		let timer = setTimeout(abort, SILENCE);
		turn.signal.addEventListener("abort", abort, { once: true });
		turn.lost = abort;
		try {
			const resumed = this.#lastEvent;
			const headers = { Accept: "text/event-stream", ...(resumed && { "Last-Event-ID": resumed }) };
			const answer = await this.#request("GET", "live?with=items", headers, undefined, attempt.signal);
			if (!/^text\/event-stream/.test(answer.headers.get("Content-Type"))) throw lost();
			const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
			let text = "";
			let isFirst = !resumed;
			for (;;) {
				const { value, done } = await reader.read();
				if (done) return;
				clearTimeout(timer);
				timer = setTimeout(abort, SILENCE);
				const blocks = (text + value).split("\n\n");
				text = blocks.pop();
				for (const block of blocks) {
					const { event, id, data } = fields(block);
					if (event === "end") return;
					if (id) this.#lastEvent = id;
					if (event === "items") this.#tell({ items: JSON.parse(data) });
					if (event !== "tray") continue;
					this.#tell({ tray: JSON.parse(data), isFirst, state: "live" });
					isFirst = false;
				}
			}
		} finally {
			clearTimeout(timer);
			turn.signal.removeEventListener("abort", abort);
			attempt.abort();
		}
	}
}

const fields = (block) => Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/)));

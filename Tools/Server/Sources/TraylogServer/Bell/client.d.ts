/** One person's tray: exact counts, as `GET /v1/users/{u}/tray` answers. */
export interface Tray {
	user: string;
	/** The seq that the counts are as of. */
	asOf: number;
	/** How many events the user had until then. */
	revision: number;
	isSeen: boolean;
	unseen: number;
	unread: number;
	/** Counted items with actions and no outcome. */
	awaiting: number;
	total: number;
	seenUpTo: number;
	seenAt: string | null;
	/** The position of the newest listed item. */
	newest: number | null;
	newestCounted: number | null;
	/** What is unseen and unread in each category that has any. */
	categories: Record<string, { unseen: number; unread: number }>;
}

/** An item as the inbox shows it. Optional members are left out when there is none. */
export interface Item {
	seq: number;
	position: number;
	key?: string;
	topic?: string;
	thread?: string;
	category?: string;
	title?: string;
	body?: string;
	summaryArgument?: string;
	summaryCount: number;
	level: "passive" | "active" | "timeSensitive" | "critical";
	collapseKey?: string;
	silent: boolean;
	muted: boolean;
	seen: boolean;
	read: boolean;
	archived: boolean;
	deleted?: boolean;
	snoozedUntil?: string;
	expiresAt?: string;
	remindAt?: string;
	actor?: string;
	occurredAt?: string;
	recordedAt: string;
	data?: unknown;
	actions?: { id: string; label: string }[];
	outcome?: { action: string; note?: string; actor: string; seq: number; at: string; asOf: number };
	/** Of a list with `group`: how many items more its thread has, what they are about, and the position of the newest. */
	group?: { more: number; names: string[]; position: number };
}

/** What a write answers. `seq` is the event's, for `undo`; without one nothing changed. */
export interface WriteResult {
	result: "appended" | "unchanged" | "duplicate";
	seq?: number;
	tray?: Tray | null;
}

export interface Group {
	/** null: the items without a thread. */
	thread: string | null;
	count: number;
	unseen: number;
	unread: number;
	newest: Item;
	summary: string | null;
	more: number;
	names: string[];
}

export interface InboxOptions {
	/** The inbox without it. */
	view?: "inbox" | "archived" | "snoozed";
	unread?: boolean;
	unseen?: boolean;
	/** Items with actions of which none was chosen. */
	awaiting?: boolean;
	/** Words that title and body have, in any language. */
	text?: string;
	/** Who sent it. */
	actor?: string;
	/** This level or a higher one. */
	level?: "passive" | "active" | "timeSensitive" | "critical";
	/** Recorded at this time or later, in RFC 3339. */
	since?: string;
	/** Recorded at this time or earlier. */
	until?: string;
	/** null: items without a thread. */
	thread?: string | null;
	/** One category, or any of several. */
	category?: string | string[];
	/**
	 * One item of each thread of the inbox, with how many others there are: of its unanswered questions the most urgent, or else its
	 * newest item. Items without a thread stand by themselves.
	 */
	group?: boolean;
	/** 1 to 100; 20 without it. */
	pageSize?: number;
}

/** A list of items, newest first, that stays up to date. Each change fires the client's `items` event. */
export interface Inbox {
	readonly items: Item[];
	/** True once the oldest item is loaded. */
	readonly end: boolean;
	/** While true, new items wait instead of moving the list: set it when the list is scrolled. */
	hold: boolean;
	/** How many new items wait. */
	readonly waiting: number;
	/** Whether the first page was loaded. */
	readonly loaded: boolean;
	/** The seq as of which the list is complete; 0 while it is known to be behind. */
	readonly asOf: number;
	/** The seq of the state that the list shows. */
	readonly shownAsOf: number;
	/** Loads the next page, the first one at the beginning; nothing at the end. */
	loadMore(): Promise<void>;
	/** Loads again what was loaded, the newest 1,000 at most. */
	refresh(): Promise<void>;
	/** Puts the items that wait on top. */
	showNew(): void;
	/** Ends the updates of this list. */
	close(): void;
}

/** What can be muted. */
export type Muted = { thread: string } | { category: string } | { topic: string } | { all: true };

/** A refusal or failure: a problem document of the service. `status` is 0 when the server cannot be reached. */
export class TrayProblem extends Error {
	constructor(document?: { error?: string; status?: number; detail?: string; title?: string });
	readonly error: string;
	readonly status: number;
	readonly detail: string;
	readonly field?: string;
}

export type TrayState = "connecting" | "live" | "offline" | "refused";

export interface TrayClientOptions {
	/** The service's address, `https://trays.example.org`, or one relative to the page, `/trays`. Any other throws a `TypeError`. */
	server: string;
	/** Whose tray; the token's user without it. */
	user?: string | null;
	/**
	 * A user token, or a function that gets one. It is asked at first need, and once more when a token is refused.
	 * Without a token, or with a page in place of JSON, the state is `refused`; it is asked again ever more rarely, at last every ten minutes.
	 */
	token: string | (() => string | Promise<string>);
}

export interface TrayClientEvents {
	tray: Event;
	items: CustomEvent<Inbox>;
	state: Event;
	problem: CustomEvent<TrayProblem>;
	/** The tokens are another person's now, where the options name none: make another client. */
	user: Event;
}

/**
 * One person's tray, live. The tabs of one origin share one stream; a page that is frozen or left gives it up.
 *
 * Writes show at once. They are sent one after the other, each under one idempotency key, so that it is stored once. While the
 * server cannot be reached or nobody is signed in, they wait, as long as the page is open; what may pass by itself is tried three
 * times more. A write that is refused is taken back, with a `problem` event; its promise rejects with the same `TrayProblem`.
 *
 *     const client = new TrayClient({ server, token: () => askMyServer() });
 *     client.addEventListener("tray", () => show(client.tray.unseen));
 *     client.start();
 */
export class TrayClient extends EventTarget {
	constructor(options: TrayClientOptions);
	/** The newest tray that is known, never older than this page's own last write; null before the first. */
	readonly tray: Tray | null;
	readonly state: TrayState;
	/** Why the state is `refused`: 401 when nobody is signed in, 403 when the token is not for this tray. */
	readonly refusal: TrayProblem | null;
	/** True keeps the stream while the page is hidden, which otherwise ends it after five minutes. */
	background: boolean;
	/** How many writes wait for the server's answer. */
	readonly pending: number;
	readonly user: string | null;
	/** The server's time in milliseconds, as the last answer says it: a page's own clock may be wrong. */
	readonly now: number;
	/** Connects, and stays connected until `stop`. */
	start(): void;
	stop(): void;
	/** Tries to connect now instead of after the wait. */
	retry(): void;
	inbox(options?: InboxOptions): Inbox;
	/** The groups of listed items, the one with the newest item first. */
	threads(options?: { limit?: number; cursor?: string | null }): Promise<{ asOf: number; threads: Group[]; next: string | null }>;
	/** Everything up to `upTo` becomes seen: by default what the tray shows. What came later stays unseen. */
	see(upTo?: number): Promise<WriteResult>;
	mark(
		as: "seen" | "read" | "unread" | "archived" | "unarchived" | "deleted" | "restored",
		items: number | Item | (number | Item)[],
	): Promise<WriteResult>;
	/** Marks everything up to `upTo`, by default what the tray shows, or what of it is in a thread or category. */
	markAll(
		as: "seen" | "read" | "archived" | "deleted",
		options?: { thread?: string | null; category?: string; upTo?: number },
	): Promise<WriteResult>;
	snooze(seq: number, until: Date | string | number): Promise<WriteResult>;
	wake(seq: number): Promise<WriteResult>;
	/** What arrives while it is muted is listed, and never counted. */
	mute(what: Muted & { until?: Date | string }): Promise<WriteResult>;
	unmute(what: Muted): Promise<WriteResult>;
	/**
	 * Records what the person decided, by an action of the item. It cannot be undone. `asOf` is the state that was on the screen, by
	 * default that of the lists: an item that was edited since is not answered (`changedSince`).
	 */
	act(seq: number, action: string, note?: string, asOf?: number): Promise<WriteResult>;
	/** Takes back what an event marked, as if it had never been stored; or a write of this page, also one that was not sent yet. */
	undo(what: number | Promise<WriteResult>): Promise<WriteResult>;
	/** Reads a path below the person's own: `get("mutes")`. */
	get(path: string): Promise<any>;
	addEventListener<Name extends keyof TrayClientEvents>(
		type: Name, listener: (event: TrayClientEvents[Name]) => void, options?: boolean | AddEventListenerOptions): void;
}

import type { Item, TrayClient } from "./client.js";
export { TrayClient, TrayProblem } from "./client.js";

/** What an item's `data` may have for the bell. Other members are the app's own. */
export interface BellData {
	/** Where the item leads: a path of the page's own origin, or an https address of `link-origins`. */
	url?: string;
	/** Who sent it, as people read it. Without one the actor is shown, unless that is a number or a UUID. */
	name?: string;
	/** The sender's picture: a path of the page's own origin, or any https address. The page's policy must allow it (`img-src`). */
	image?: string;
	/** What kind it is: a sign of the bell (`build`, `comment`, `payment`, …) or an emoji. */
	icon?: string;
}

/** The element's attributes, as a framework's templates write them. */
export interface BellAttributes {
	server: string;
	user?: string;
	"token-url"?: string;
	/** By default `unseen`. */
	count?: "unseen" | "unread";
	/** Tabs of an app's own: `Builds:build,deploy;Mentions:mention`. */
	tabs?: string;
	/** The rows of the settings, written as `tabs`; by default those. */
	categories?: string;
	/** One item of each thread, its most urgent unanswered one or else its newest, and the number of others. */
	group?: boolean | "";
	/** The number on the app's icon, too. */
	badge?: boolean | "";
	/** New notifications shown by the system while no page of the person is in front, once they allow it; and the number on the app's icon. */
	"system-notifications"?: boolean | "";
	/** The number before the page's title, too. */
	"page-title"?: boolean | "";
	/** The https origins, separated by blanks, that items may lead to. */
	"link-origins"?: string;
	/** By default as the page is; `auto` follows the system. */
	theme?: "auto" | "light" | "dark";
	/** By default the page's. */
	lang?: string;
}

/** Texts that replace the bell's own, by their names. An object holds plural forms, as `Intl.PluralRules` names them. */
export interface BellStrings {
	/** The language that the texts are in, when the bell does not have it: times, plural forms and direction follow it. */
	lang?: string;
	[name: string]: string | Record<string, string> | undefined;
}

/**
 * The bell: a button with a number, and the panel that it opens. `BellAttributes` has its attributes.
 *
 * It fires `traylog-open` with the item before it follows the item's link; `preventDefault()` keeps it from that. It fires
 * `traylog-signin` when nobody is signed in any more, and again when the person asks to sign in.
 */
export class TraylogBell extends HTMLElement {
	/** The client that it shows: one of your own, or the one that it made of its attributes. */
	get client(): TrayClient | null;
	set client(client: TrayClient | null);
	get strings(): BellStrings;
	set strings(strings: BellStrings | null);
	/** Makes the content of an item; the title stays readable for screen readers. */
	get renderItem(): ((item: Item) => Node) | null;
	set renderItem(render: ((item: Item) => Node) | null);
	open(): void;
	close(): void;
}

/** `isAsked`: the person pressed "Sign in". Unless it is prevented, the bell then asks for a token again. */
export type BellSignIn = CustomEvent<{ isAsked: boolean }>;

declare global {
	interface HTMLElementTagNameMap {
		"traylog-bell": TraylogBell;
	}
	interface HTMLElementEventMap {
		"traylog-open": CustomEvent<Item>;
		"traylog-signin": BellSignIn;
	}
	interface DocumentEventMap {
		"traylog-open": CustomEvent<Item>;
		"traylog-signin": BellSignIn;
	}
}

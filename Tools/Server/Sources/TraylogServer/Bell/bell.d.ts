import type { Item, TrayClient } from "./client.js";
export { TrayClient, TrayProblem } from "./client.js";

/**
 * The bell: a button with a number, and the panel that it opens.
 *
 * Attributes: `server`, `user`, `token-url`; `count` (`unseen` or `unread`), `tabs` (`"Builds:build,deploy;Mentions:mention"`),
 * `group`, `badge`, `page-title`, `link-origins` (separated by blanks), `theme` (`auto`, `light`, `dark`), `lang`.
 *
 * It fires `traylog-open` with the item before it follows the item's link; `preventDefault()` keeps it from that.
 */
export class TraylogBell extends HTMLElement {
	/** The client that it shows: one of your own, or the one that it made of its attributes. */
	get client(): TrayClient | null;
	set client(client: TrayClient | null);
	/** Texts that replace the bell's own, by their names. An object holds plural forms, as `Intl.PluralRules` names them. */
	get strings(): Record<string, string | Record<string, string>>;
	set strings(strings: Record<string, string | Record<string, string>> | null);
	/** Makes the content of an item; the title stays readable for screen readers. */
	renderItem: ((item: Item) => Node) | null;
	open(): void;
	close(): void;
}

declare global {
	interface HTMLElementTagNameMap {
		"traylog-bell": TraylogBell;
	}
	interface HTMLElementEventMap {
		"traylog-open": CustomEvent<Item>;
	}
}

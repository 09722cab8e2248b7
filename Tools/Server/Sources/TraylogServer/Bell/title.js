// One number before the page's title and on the app's icon: of all bells, each person counted once. Loaded by the first bell that shows it there.

const shown = new Map();
const prefixes = new Set();
let titles;

const total = () => Object.values(Object.fromEntries(shown.values())).reduce((sum, n) => sum + n, 0);

function write() {
	const n = total();
	const { title } = document;
	const [found] = title.match(/^\(\d+\) ?/) ?? [""];
	const plain = prefixes.has(found.trim()) ? title.slice(found.length) : title;
	const prefix = n ? `(${n}) ` : "";
	prefixes.add(prefix.trim());
	if (title !== (prefix + plain).trim()) document.title = prefix + plain;
	if (titles) return;
	// A router sets it, too. Not at once, so that two who disagree about it leave the page running.
	titles = new MutationObserver(() => setTimeout(write, 100));
	titles.observe(document.head, { childList: true, characterData: true, subtree: true });
}

export function entitle(bell, { who, n, title, badge }) {
	if (n && (title || badge)) shown.set(bell, [who, n]);
	else shown.delete(bell);
	if (badge) navigator.setAppBadge?.(total()).catch(() => {});
	if (title || titles) write();
}

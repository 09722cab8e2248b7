// What a list with `group` shows: threads, and between them the items that have none. Loaded by the first such list.

const URGENCY = ["passive", "active", "timeSensitive", "critical"];

// The thread's most urgent question, so that nothing newer hides it; without one its newest item.
function first({ thread, newest, more, names }, questions) {
	const [item = newest] = questions.filter((one) => one.thread === thread).sort((a, b) => URGENCY.indexOf(b.level) - URGENCY.indexOf(a.level));
	const { position } = newest;
	if (item.seq === newest.seq) return { ...item, group: { more, names, position } };
	// The server has the names of all but the newest, which is one of the others here.
	return { ...item, group: { more: more + newest.summaryCount - item.summaryCount, names: [], position } };
}

const place = ({ group, position }) => group?.position ?? position;

/** A page of threads and of items without one, by the place of each; `before` is the `next` of the page above it. */
export async function groups(client, before, limit) {
	const pages = [];
	const ask = async (work) => {
		const page = await work;
		pages.push(page);
		return page;
	};
	const single = (cursor) => client.get(`inbox?${new URLSearchParams({ unthreaded: true, limit, ...(cursor && { cursor }) })}`);
	const questions = before?.questions ?? (client.tray?.awaiting === 0 ? [] : (await ask(client.get("inbox?awaiting=true&limit=100"))).items);
	const read = async (source) => {
		if (source.rest.length || source.cursor === null) return source;
		const page = await ask(source.isThreads ? client.threads({ limit, cursor: source.cursor }) : single(source.cursor));
		const all = source.isThreads ? page.threads.map((group) => first(group, questions)) : page.items;
		// Items without a thread are no thread.
		const rest = source.isThreads ? all.filter(({ thread }) => thread !== undefined && thread !== null) : all;
		return { ...source, rest, cursor: page.next, end: page.next ? place(all.at(-1)) : 0 };
	};
	const sources = await Promise.all((before?.sources ?? [{ isThreads: true, rest: [] }, { rest: [] }]).map(read));
	// Below the end of the shorter one, its next page may have what comes first.
	const end = Math.max(...sources.map((source) => source.end));
	const items = sources.flatMap(({ rest }) => rest.filter((item) => place(item) >= end)).sort((a, b) => place(b) - place(a));
	const left = sources.map((source) => ({ ...source, rest: source.rest.filter((item) => place(item) < end) }));
	const isEnd = left.every(({ rest, cursor }) => !rest.length && cursor === null);
	return { items, next: isEnd ? null : { sources: left, questions }, asOf: Math.min(...pages.map(({ asOf }) => asOf)) };
}

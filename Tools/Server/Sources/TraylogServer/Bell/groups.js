// The newest item of each thread, as a list of items. Loaded by the first bell with `group`.

/** Makes a list of threads of `list`, and loads its first page. */
export function group(list, client, done) {
	let next;

	async function load(cursor) {
		const page = await client.threads({ limit: 50, cursor });
		const fresh = page.threads.map(({ newest, more, names }) => ({ ...newest, group: { more, names } }));
		list.items = cursor ? [...list.items, ...fresh] : fresh;
		list.shownAsOf = cursor ? Math.min(list.shownAsOf, page.asOf) : page.asOf;
		next = page.next;
		list.end = !next;
		list.loaded = true;
		done();
	}

	list.loadMore = () => (list.end ? Promise.resolve() : load(next));
	list.refresh = () => load();
	return load();
}

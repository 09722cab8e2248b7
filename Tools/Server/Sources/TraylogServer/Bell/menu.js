// The menus of an item and of quiet times. Loaded when the panel opens, so that they are there when the connection is not.

export { default as icons } from "./icons.js";

/** Fills `menu` with what is asked for: `ofItem`, or `ofQuiet`. */
export function menus({ menu, root, client, tried, toast, now, later, place, keep, say, h, button, drawing, steps, hushed }) {
	let opener;

	menu.addEventListener("keydown", (event) => {
		const entries = [...menu.querySelectorAll("[role=menuitem]")];
		event.stopPropagation();
		// From the field of a date Chromium closes the panel, too.
		if (event.key === "Escape") event.preventDefault(), close();
		// On from the button that opened the menu, which is the last thing in the panel.
		if (event.key === "Tab" && (entries.length || (!event.shiftKey && root.activeElement === menu.lastChild))) close();
		steps(event, entries, root.activeElement)?.focus();
	});

	// The browser closes it when one goes back, or clicks elsewhere.
	menu.addEventListener("toggle", ({ newState }) => newState === "closed" && keep(opener));

	function show(from, entries, heading) {
		opener = from;
		menu.role = "menu";
		menu.ariaLabel = opener.ariaLabel;
		menu.showPopover();
		offer(entries, heading);
		place(opener);
	}

	function offer(entries, heading) {
		const choose = (work, stays) => () => (stays || close(), work());
		menu.replaceChildren(...(heading ? [h("div", { class: "day" }, heading)] : []), ...entries.filter(Boolean).map(([name, work, icon, stays]) =>
			button(choose(work, stays), { role: "menuitem", part: "menu-item", tabindex: "-1" }, icon && drawing(icon), say(name))));
		menu.querySelector("button").focus();
	}

	function close() {
		menu.hidePopover();
		keep(opener);
	}

	function times(work) {
		const evening = later(0, 18);
		return [
			["hour", () => work(now() + 3_600_000)],
			evening > now() && ["evening", () => work(evening)],
			["tomorrow", () => work(later(1, 9))],
		];
	}

	function ofItem(from, { seq, thread, topic, read, archived }) {
		const act = (work, undo) => {
			tried(work);
			if (undo) toast(say("done"), () => tried(undo(work)));
		};
		const mark = (as, canUndo) => () => act(client.mark(as, seq), canUndo && ((work) => client.undo(work)));
		const mute = (what) => () => act(client.mute(what), () => client.unmute(what));
		const snooze = (until) => act(client.snooze(seq, until), () => client.wake(seq));
		const pick = () => {
			const input = h("input", { type: "datetime-local" });
			const done = () => new Date(input.value) > now() && (close(), snooze(input.value));
			menu.role = "group";
			menu.replaceChildren(h("label", {}, say("date"), " ", input), button(done, {}, say("snooze")));
			input.focus();
		};
		const week = () => snooze(later(((8 - later(0, 9).getDay()) % 7) || 7, 9));
		show(from, [
			read ? ["unreadAgain", mark("unread"), "unread"] : ["read", mark("read"), "read"],
			archived ? ["unarchive", mark("unarchived"), "archive"] : ["archive", mark("archived", true), "archive"],
			["snooze", () => offer([...times(snooze), ["week", week], ["date", pick, null, true]]), "clock", true],
			thread && ["mute", mute({ thread }), "quiet"],
			topic && ["muteTopic", mute({ topic }), "quiet"],
			["delete", mark("deleted", true), "delete"],
		]);
	}

	function ofQuiet(from) {
		const set = (as, until) => tried(client?.[as]({ all: true, until })).then(hushed);
		if (from.ariaPressed === "true") set("unmute");
		else show(from, [...times((until) => set("mute", until)), ["always", () => set("mute")]], say("quiet"));
	}

	return { ofItem, ofQuiet };
}

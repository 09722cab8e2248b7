// Long tables: older rows come as one scrolls, rows far away leave the page, new ones come by themselves.

import { alarm, all, element, find, live, localize, page, site } from "./dom.js";

const farAway = 2500;

const seq = (row) => Number(row.dataset.seq);

/** Rows of a fetched page, ready for this one. */
function rowsOf(document) {
  const table = find("table.rows[data-rows]", document);
  if (!table) return [];
  return all("tbody tr[data-seq]", table).map((row) => globalThis.document.importNode(row, true));
}

/** Loads older pages before they are needed, and keeps only what is near in the page. */
class Scroller {
  constructor(table) {
    this.table = table;
    this.chunks = new Map();
    this.near = new IntersectionObserver((entries) => entries.forEach((entry) => this.moved(entry)), {
      rootMargin: `${farAway}px 0px`,
    });
    this.adopt(table.tBodies[0]);
    this.more = find("[data-next]");
    if (!this.more) return;
    // An observer would miss a link that leaves with a page and is scrolled to again before the next frame.
    const look = () => this.isNearEnd() && this.load();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    this.more.addEventListener("click", (event) => {
      event.preventDefault();
      this.isStopped = false;
      this.load();
    });
    look();
  }

  /** Says how far a search has come that finds few events, and offers to stop it. */
  say(found) {
    const reached = Number(new URL(this.more.href).searchParams.get("before"));
    this.progress ??= element("p", { class: "progress", role: "status" });
    if (!this.progress.isConnected) this.more.before(this.progress);
    const stop = element("button", { type: "button" }, "Stop");
    stop.addEventListener("click", () => {
      this.isStopped = true;
      this.progress.textContent = `Stopped. Events before ${reached} were not searched.`;
      this.more.focus();
    });
    if (found) this.progress.replaceChildren();
    else this.progress.replaceChildren(`Searched back to event ${reached}. `, stop);
    const pending = find("[data-pending]");
    if (pending) pending.hidden = true;
  }

  adopt(body) {
    const rows = all("tr[data-seq]", body);
    if (!rows.length) return;
    const address = new URL(location.href);
    address.searchParams.set("before", String(seq(rows[0]) + 1));
    this.chunks.set(body, { address: address.href, rows: rows.length, isGap: false });
    this.near.observe(body);
  }

  over() {
    this.more.parentElement.remove();
    if (all("tr[data-seq]", this.table).length || all(".gap", this.table).length) return;
    const none = find("template[data-none]");
    if (none) this.table.closest(".scroll").replaceWith(document.importNode(none.content, true));
    find("[data-pending]")?.remove();
  }

  isNearEnd() {
    return this.more.isConnected && this.more.getBoundingClientRect().top < innerHeight + farAway;
  }

  async load() {
    if (this.loading || this.isStopped || !this.more.isConnected) return;
    this.loading = true;
    let failed = false;
    try {
      const next = await page(this.more.href);
      alarm("older", "");
      const rows = rowsOf(next);
      if (rows.length) {
        const body = element("tbody", {}, ...rows);
        localize(body);
        this.table.append(body);
        this.adopt(body);
      }
      const link = find("[data-next]", next);
      if (link) this.more.href = link.getAttribute("href");
      if (link) this.say(rows.length);
      else this.over();
    } catch (failure) {
      failed = true;
      alarm("older", `Older events could not be loaded: ${failure.message}.`);
      this.more.textContent = `Older events (again: ${failure.message})`;
    }
    this.loading = false;
    // A filter may find few rows in a page: go on until the screen is full.
    if (!failed && this.isNearEnd()) requestAnimationFrame(() => this.load());
  }

  moved({ target, isIntersecting, boundingClientRect }) {
    const chunk = this.chunks.get(target);
    if (!chunk) return;
    chunk.isNear = isIntersecting;
    if (isIntersecting) this.fill(target, chunk);
    else if (chunk.leave) chunk.leave.abort();
    else if (!chunk.isGap && !target.contains(document.activeElement)) {
      const gap = element("tr", { class: "gap" }, element("td", { colspan: "9" }));
      gap.style.height = `${boundingClientRect.height}px`;
      target.replaceChildren(gap);
      chunk.isGap = true;
    }
  }

  async fill(body, chunk) {
    if (!chunk.isGap || chunk.leave) return;
    chunk.leave = new AbortController();
    try {
      const rows = rowsOf(await page(chunk.address, chunk.leave.signal)).slice(0, chunk.rows);
      if (rows.length) {
        body.replaceChildren(...rows);
        localize(body);
        chunk.isGap = false;
      }
    } catch (failure) {
      // It may have come back while the request was being ended.
      if (failure.name === "AbortError") requestAnimationFrame(() => chunk.isNear && this.fill(body, chunk));
      else alarm("older", `Events could not be loaded: ${failure.message}.`);
    }
    chunk.leave = undefined;
  }
}

/** Puts new rows on top of a table as the log grows. */
export function followRows(table, { stream, address, most }) {
  const mark = find("[data-live]");
  let isBusy = false;
  let isStale = false;
  const refresh = async () => {
    isStale = true;
    if (isBusy) return;
    isBusy = true;
    while (isStale) {
      isStale = false;
      try {
        prepend(table, rowsOf(await page(address())), most);
      } catch {
        // The stream says when it is back.
      }
      await new Promise((resume) => setTimeout(resume, 400));
    }
    isBusy = false;
  };
  live(stream, ["data", "tray"], refresh, (isLive) => (mark.hidden = !isLive));
}

function prepend(table, rows, most) {
  const body = table.tBodies[0];
  const newest = Math.max(0, ...all("tr[data-seq]", body).slice(0, 1).map(seq));
  const fresh = rows.filter((row) => seq(row) > newest);
  if (!fresh.length) return;
  // More came than a page holds: begin anew rather than show a gap.
  if (fresh.length === rows.length && newest > 0 && !most) return location.reload();
  for (const row of fresh) row.classList.add("new");
  body.prepend(...(most ? fresh.slice(0, most) : fresh));
  if (most) all("tr[data-seq]", body).slice(most).forEach((row) => row.remove());
  localize(body);
}

const table = find("table[data-rows]");
if (table) {
  new Scroller(table);
  if (table.hasAttribute("data-first")) {
    const user = table.dataset.user;
    followRows(table, {
      stream: () => (user ? `${site}/data/users/${user}/changes` : `${site}/data/log`) + "?offset=now&live=sse",
      address: () => location.href,
    });
  }
}

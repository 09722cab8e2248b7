// An item beside its list: full text, data, and what happened to it. Escape closes it, and the focus goes back to the list.

import { alarm, all, element, find, icon, localize, page } from "./dom.js";

const dialog = element("dialog", { class: "sheet" });
let opener;
let asked;

/** A button of the sheet's head; one without an address cannot be pressed. */
function step(rel, name, drawing, href) {
  const link = element("a", { class: "button quiet", rel, href, "aria-disabled": !href && "true", title: name });
  link.append(icon(drawing), element("span", { class: "unseen-text" }, name));
  return link;
}

function fill(body) {
  const rows = all("[data-open]");
  const at = rows.findIndex((row) => row.dataset.open === body.dataset.sheet);
  // What the list shows comes first: it may be filtered. Beyond its end the item's page knows the next.
  const near = (offset, rel) => (at < 0 ? undefined : rows[at + offset]?.href) ?? find(`[rel=${rel}]`, body)?.href;
  const close = element("button", { type: "button", class: "quiet", title: "Close (Escape)" }, icon("cross"),
    element("span", { class: "unseen-text" }, "Close"));
  close.addEventListener("click", () => dialog.close());
  find(".step", body).replaceChildren(
    step("prev", "Newer item", "left", near(-1, "prev")), step("next", "Older item", "right", near(1, "next")), close);
  const title = find("#sheet-title", body);
  title.tabIndex = -1;
  title.setAttribute("autofocus", "");
  dialog.replaceChildren(body);
  dialog.setAttribute("aria-labelledby", title.id);
  for (const row of rows) row.closest("li")?.classList.toggle("shown", row.dataset.open === body.dataset.sheet);
  dialog.dataset.shown = body.dataset.sheet;
}

async function show(address) {
  const mine = (asked = Symbol(address));
  try {
    const body = document.importNode(find("[data-sheet]", await page(address)), true);
    if (mine !== asked) return;
    localize(body);
    alarm("sheet", "");
    fill(body);
    if (!dialog.open) dialog.showModal();
    find("#sheet-title", dialog).focus();
    dialog.scrollTop = 0;
  } catch (failure) {
    if (mine !== asked) return;
    alarm("sheet", `The item could not be shown: ${failure.message}.`);
    if (dialog.open) dialog.close();
  }
}

const isPlain = (event) => !event.button && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-open], .sheet .step a[href]");
  if (!link || !isPlain(event)) return;
  event.preventDefault();
  if (link.dataset.open) opener = link;
  show(link.href);
});
dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
dialog.addEventListener("keydown", (event) => {
  const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  if (!rel || !isPlain(event) || event.target.closest("pre")) return;
  event.preventDefault();
  find(`.step [rel=${rel}][href]`, dialog)?.click();
});
dialog.addEventListener("close", () => {
  asked = undefined;
  for (const row of all(".item.shown")) row.classList.remove("shown");
  const row = find(`[data-open="${dialog.dataset.shown}"]`) ?? (opener?.isConnected ? opener : undefined);
  (row ?? find("#main")).focus();
});
document.body.append(dialog);

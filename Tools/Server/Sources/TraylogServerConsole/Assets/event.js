// Verifies one event in this browser.

import { all, announce, count, element, find, icon, json, localTime, site, text, visible } from "./dom.js";
import { fromFile, keptOf, noteVerified, policy, publicKey, save, saveHead } from "./heads.js";
import { checkEvent, checkSignature, checkSize, fromBase64, readNote } from "./proof.js";
import { kinds, readPayload } from "./payload.js";
import { checkWitnesses } from "./witnesses.js";

const panel = find("[data-proof]");
const seq = Number(panel.dataset.proof);
const store = panel.dataset.store;
const choice = find("[data-against]");
const list = find("[data-checks]");
const verdict = find("[data-verdict]");
const steps = find("[data-steps]");
const heads = [];
let unkept;

function offer(chosen) {
  heads.splice(0, heads.length, ...(unkept ? [unkept] : []), ...keptOf(store));
  choice.replaceChildren(
    ...heads.map((head, index) =>
      element(
        "option",
        { value: index, disabled: head.size < seq },
        `${count(head.size)} events, ${head.keptAt ? `kept ${localTime(new Date(head.keptAt))}` : "from the file"}` +
          (head.size < seq ? " (older than this event)" : ""),
      ),
    ),
    element("option", { value: "server" }, "the server's current tree head (weaker: not independent)"),
  );
  const usable = heads.findIndex((head) => head.size >= seq);
  choice.value = chosen ?? (usable < 0 ? "server" : String(usable));
}

function line(state, text, hash) {
  const row = element("li", { class: state }, icon(state.includes("bad") ? "cross" : state.includes("note") ? "warning" : "check"), element("span", {}, text));
  if (hash) row.lastChild.append(element("span", { class: "hash" }, hash));
  // The steps stay folded: what came of them is said above.
  (state === "good" ? list : verdict).append(row);
  steps.hidden = !list.children.length;
  return row;
}

const sentences = {
  content: "Salt and payload are what the leaf commits to",
  leaf: "The leaf has this hash",
  root: "The path leads from the leaf to the root of the tree head",
};

/** What the page shows must be what leaf and payload say. */
function compare(disclosure, leaf) {
  const payload = readPayload(fromBase64(disclosure.payload));
  const cells = new Map(all(".fields > div").map((row) => [row.dataset.field, find("dd", row)]));
  cells.set("data", find("pre.data"));
  for (const [name, value] of Object.entries(payload)) {
    const cell = cells.get(name);
    const shown = cell && (find("time", cell)?.dateTime ?? cell.textContent.trim());
    if (shown !== visible(value).trim()) throw new Error(`the payload has ${name} ${value}, and this page shows ${shown ?? "none"}`);
  }
  const recorded = new Date(leaf.recordedAt).toISOString();
  const isRecorded = find("time", cells.get("recordedAt")).dateTime === recorded;
  if (!isRecorded || cells.get("kind").textContent !== kinds[leaf.kind]) {
    throw new Error(`the leaf says ${kinds[leaf.kind]} at ${recorded}, and this page something else`);
  }
  line("good", `The fields on this page match the proved content: ${["kind", "recordedAt", ...Object.keys(payload)].join(", ")}`);
}

/** The tree head that is chosen; that of the server has its signature. */
async function chosenHead() {
  if (choice.value !== "server") return heads[Number(choice.value)];
  const note = await text(`${site}/data/checkpoint`);
  const { size, root } = readNote(note);
  return { size, root, note };
}

/** Salt and payload of the event; null where they were erased. */
const disclose = () => json(`${site}/events/${seq}/disclosure`).catch((failure) => {
  if (failure.status === 410) return null;
  throw failure;
});

/** Files that `traylog check` holds against each other on any machine. */
async function hand() {
  try {
    const head = await chosenHead();
    const proof = await json(`${site}/data/proofs/${seq}?asOf=${head.size}`);
    save(`proof-${seq}.json`, `${JSON.stringify({ ...proof, ...(proof.leaf === undefined ? null : await disclose()) })}\n`);
    const name = saveHead(head);
    const row = line("good verdict", `Saved: the proof, and the tree head of ${count(head.size)} events. On any machine: traylog check proof-${seq}.json --tree-head ${name}`);
    // Browsers may hold back the second file of one click, and a page does not learn it.
    const again = element("button", {}, `Save ${name}`);
    again.addEventListener("click", () => saveHead(head));
    row.lastChild.append(element("br"), "Your browser may have kept the second file back. ", again);
  } catch (failure) {
    line("bad", `The proof could not be saved: ${failure.message}.`);
  }
}

function clear() {
  list.replaceChildren();
  verdict.replaceChildren();
  steps.hidden = true;
}

async function verify() {
  clear();
  const isWord = choice.value === "server";
  try {
    const head = await chosenHead();
    let seen;
    if (policy()) {
      if (!head.note) throw new Error("the tree head has no signature, and your policy asks for witnesses who have seen it");
      seen = await checkWitnesses(head.note, policy(), publicKey());
      line("good", `The tree head is ${seen}`);
    } else if (head.note && publicKey()) {
      await checkSignature(head.note, publicKey());
      line("good", "The tree head is signed by the key that you trust");
    }
    const last = await json(`${site}/data/proofs/${head.size}?asOf=${head.size}`);
    if (await checkSize(head, last)) line("good", `The tree head covers all ${count(head.size)} events`);
    const proof = await json(`${site}/data/proofs/${seq}?asOf=${head.size}`);
    const disclosure = proof.leaf === undefined ? null : await disclose();
    const leaf = await checkEvent({
      seq, proof, disclosure, head, tell: (step, hash) => line("good", sentences[step], hash),
    });
    if (disclosure) compare(disclosure, leaf);
    conclude(isWord, head, leaf, disclosure, seen);
  } catch (failure) {
    line("bad verdict", `Not proved: ${failure.message}.`);
    announce("Not proved");
  }
}

/** @param seen who has seen the tree head; undefined without a policy of witnesses. */
function conclude(isWord, head, leaf, disclosure, seen) {
  if (!leaf) {
    line("note", "Not provable: the content. The event left the log with a compaction, and only the hash of its leaf is here.");
  } else if (!disclosure) {
    line("note", "Not provable: the content. It was erased, and with it the salt, so that nobody can guess it.");
  }
  const what = disclosure ? "Event" : "The place of event";
  if (isWord && seen) {
    line("good verdict", `Proved: ${disclosure ? `event ${seq} is part of` : `an event stood at ${seq} in`} the log of `
      + `${count(head.size)} events, ${seen}.`);
  } else if (isWord) {
    line("note verdict", `${what} ${seq} is in the tree that the server shows now. To know that the server shows everybody the `
      + "same tree, and has not changed it, verify against a tree head that you kept.");
  } else {
    line("good verdict", disclosure
      ? `Proved: event ${seq} is part of the log you recorded at ${count(head.size)} events, unchanged.`
      : `Proved: an event stood at ${seq} in the log you recorded at ${count(head.size)} events.`);
    noteVerified({ store, ...head });
  }
  announce(verdict.lastChild.textContent);
}

find("[data-verify]").hidden = false;
find("[data-run]").addEventListener("click", verify);
find("[data-hand]").addEventListener("click", hand);
find("[data-file]").addEventListener("change", async (event) => {
  clear();
  try {
    unkept = { store, ...(await fromFile(event.target.files[0], readNote)) };
    offer("0");
  } catch (failure) {
    line("bad", `The file cannot be used: ${failure.message}.`);
  }
});
offer();

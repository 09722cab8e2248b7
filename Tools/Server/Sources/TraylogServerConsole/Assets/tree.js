// The tree heads that this browser keeps: consistency between any two, and signatures.

import { watchComplete } from "./complete.js";
import { all, announce, count, element, find, icon, json, localTime, site, text } from "./dom.js";
import { fromFile, keep, keepPolicy, keepPublicKey, keptOf, noteVerified, policy, publicKey, remove, saveHead } from "./heads.js";
import { checkGrowth, checkSignature, readNote } from "./proof.js";
import { checkWitnesses, policyFrom, readPolicy } from "./witnesses.js";

const panel = find("[data-tree]");
const store = panel.dataset.store;
const table = find("[data-kept]");
const list = find("[data-checks]");
const keyField = find("[data-public]");

function line(state, text, hash) {
  const row = element("li", { class: state }, icon(state.includes("bad") ? "cross" : "check"), element("span", {}, text));
  if (hash) row.lastChild.append(element("span", { class: "hash" }, hash));
  list.append(row);
}

async function present() {
  const head = await json(`${site}/data/tree-head`);
  const found = { store, size: head.treeSize, root: head.rootHash };
  if (!panel.dataset.key) return found;
  const note = await text(`${site}/data/checkpoint`);
  const signed = readNote(note);
  return { store, size: signed.size, root: signed.root, note };
}

async function signature(head) {
  if (!head.note) return ["muted", "none"];
  if (!publicKey() && !policy()) return ["muted", "give the public key below"];
  try {
    const signed = readNote(head.note);
    if (signed.size !== head.size || signed.root !== head.root) return ["bad", "of another tree head"];
    if (policy()) return ["good", await checkWitnesses(head.note, policy(), publicKey())];
    await checkSignature(head.note, publicKey());
    return ["good", `signed by ${publicKey().split("+")[0]}`];
  } catch (failure) {
    return ["bad", failure.message];
  }
}

async function draw() {
  const heads = keptOf(store);
  const rows = await Promise.all(heads.map(async (head) => {
    const box = element("input", { type: "checkbox", "aria-label": `Compare the tree head of ${head.size} events` });
    box.addEventListener("change", chosen);
    const drop = element("button", { class: "quiet", type: "button" }, icon("cross"),
      element("span", { class: "unseen-text" }, `Remove the tree head of ${head.size} events`));
    drop.addEventListener("click", () => forget(head));
    const [state, words] = await signature(head);
    const row = element("tr", {}, element("td", {}, box), element("td", { class: "n" }, count(head.size)),
      element("td", { class: "hash" }, head.root), element("td", { class: "when" }, localTime(new Date(head.keptAt))),
      element("td", {}, element("span", { class: state === "muted" ? "muted" : `dot ${state}` }, state === "muted" ? words : ""),
        state === "muted" ? "" : words), element("td", { class: "n" }, drop));
    row.head = head;
    return row;
  }));
  table.tBodies[0].replaceChildren(...rows);
  table.hidden = !heads.length;
  find("[data-none]").hidden = heads.length > 0;
  find("[data-count]").textContent = String(heads.length);
  chosen();
}

/** Takes a head away, and offers it back. */
function forget(head) {
  remove(head);
  list.replaceChildren();
  const back = element("button", { type: "button" }, "Undo");
  back.addEventListener("click", () => {
    keep(head);
    list.replaceChildren();
    draw();
watchComplete(() => keptOf(store));
  });
  list.append(element("li", {}, icon("cross"), element("span", {}, `The tree head of ${count(head.size)} events was removed. `, back)));
  draw();
watchComplete(() => keptOf(store));
  back.focus();
}

const selected = () => all("tbody tr", table).filter((row) => find("input", row).checked).map((row) => row.head);

function chosen() {
  const many = selected().length;
  for (const row of all("tbody tr", table)) row.classList.toggle("chosen", find("input", row).checked);
  find("[data-compare]").disabled = many < 1 || many > 2;
  find("[data-hint]").textContent = ["Choose two tree heads, or one to compare it with the present one.",
    "With the present tree head.", "With each other."][many] ?? "Choose two at most.";
}

async function compare() {
  list.replaceChildren();
  try {
    const [one, other = await present()] = selected();
    const [first, second] = [one, other].sort((a, b) => a.size - b.size);
    const proof = await json(`${site}/data/proofs/consistency?first=${first.size}&second=${second.size}`);
    await checkGrowth(first, second, proof.path);
    line("good", `${count(proof.path.length)} hashes lead from the first root to the second`, `${first.root} → ${second.root}`);
    line("good verdict", first.size === second.size ? `Both are the same tree of ${count(first.size)} events.`
      : `Proved: the log of ${count(second.size)} events begins with all ${count(first.size)} that you knew. Nothing was changed.`);
    noteVerified(second);
    noteVerified(first);
  } catch (failure) {
    line("bad verdict", `Not proved: ${failure.message}. Keep both tree heads: they are evidence.`);
  }
  announce(list.lastChild.textContent);
}

find("[data-tools]").hidden = false;
find("[data-kept-panel]").hidden = false;
find("[data-keep]").addEventListener("click", async () => {
  list.replaceChildren();
  try {
    const head = await present();
    keep(head);
    // Who keeps the first tree head keeps the key that it came with: later ones must have the same.
    if (!publicKey()) keepPublicKey(keyField.value.trim());
    await draw();
watchComplete(() => keptOf(store));
    announce(`The tree head of ${head.size} events is kept`);
  } catch (failure) {
    line("bad", `The present tree head could not be read: ${failure.message}.`);
  }
});
find("[data-save]").addEventListener("click", async () => saveHead(await present()));
find("[data-import]").addEventListener("change", async (event) => {
  list.replaceChildren();
  try {
    for (const file of event.target.files) keep({ store, ...(await fromFile(file, readNote)) });
    await draw();
watchComplete(() => keptOf(store));
  } catch (failure) {
    line("bad", `The file cannot be used: ${failure.message}.`);
  }
});
find("[data-compare]").addEventListener("click", compare);
find("[data-policy]").addEventListener("change", async (event) => {
  list.replaceChildren();
  try {
    keepPolicy(await policyFrom(event.target.files[0]));
    event.target.value = "";
  } catch (failure) {
    line("bad", `The policy cannot be used: ${failure.message}.`);
  }
  await drawPolicy();
  draw();
});
find("[data-no-policy]").addEventListener("click", async () => {
  keepPolicy("");
  await drawPolicy();
  draw();
});

/** The policy that is kept. */
async function drawPolicy() {
  find("[data-has-policy]").hidden = !policy();
  if (!policy()) return;
  const { witnesses } = await readPolicy(policy());
  find("[data-policy-words]").textContent = `It names ${count(witnesses.length)} witness${witnesses.length === 1 ? "" : "es"}. `;
}
keyField.value = publicKey() || panel.dataset.key;
keyField.addEventListener("change", () => {
  keepPublicKey(keyField.value.trim());
  draw();
});
drawPolicy();
draw();
watchComplete(() => keptOf(store));

// Tree heads that this browser keeps.

const name = "traylog.heads";
const keyName = "traylog.key";
const policyName = "traylog.policy";

/** Those of all stores: { store, size, root, keptAt, verifiedAt?, note? }. */
export function kept() {
  try {
    const heads = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(heads) ? heads.filter((head) => Number.isSafeInteger(head?.size) && typeof head.root === "string") : [];
  } catch {
    return [];
  }
}

const write = (heads) => localStorage.setItem(name, JSON.stringify(heads));
const isSame = (one, other) => one.store === other.store && one.size === other.size && one.root === other.root;

export const keptOf = (store) => kept().filter((head) => head.store === store).sort((a, b) => b.size - a.size);

/** Keeps a head; one that is kept already stays as it is, and may gain a signature. */
export function keep(head) {
  const heads = kept();
  const known = heads.find((other) => isSame(head, other));
  if (known) known.note ??= head.note;
  else heads.push({ keptAt: new Date().toISOString(), ...head });
  write(heads);
}

export const remove = (head) => write(kept().filter((other) => !isSame(head, other)));

export function noteVerified(head) {
  const heads = kept();
  for (const other of heads) if (isSame(head, other)) other.verifiedAt = new Date().toISOString();
  write(heads);
}

export const publicKey = () => localStorage.getItem(keyName) ?? "";
export const keepPublicKey = (key) => localStorage.setItem(keyName, key);

/** The text of the policy of witnesses that this browser keeps; empty without one. */
export const policy = () => localStorage.getItem(policyName) ?? "";
export const keepPolicy = (text) => (text ? localStorage.setItem(policyName, text) : localStorage.removeItem(policyName));

/** A tree head from a file: the JSON of `traylog tree-head --json`, or a checkpoint. */
export async function fromFile(file, readNote) {
  if (file.size > 65536) throw new Error("the file is too long for a tree head");
  const text = await file.text();
  if (text.trimStart().startsWith("{")) {
    const { treeSize: size, rootHash: root, checkpoint } = JSON.parse(text);
    if (!Number.isSafeInteger(size) || !/^[0-9a-f]{64}$/.test(root)) throw new Error("the file has no treeSize and rootHash");
    return { size, root, note: checkpoint };
  }
  const { size, root } = readNote(text);
  return { size, root, note: text };
}

/** Gives the reader a file. */
export function save(name, text) {
  const link = document.createElement("a");
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Gives the reader a tree head, with its signature where it has one; answers the name of the file: browsers would add an ending to one that has none. */
export function saveHead(head) {
  const name = `tree-head-${head.size}.${head.note ? "txt" : "json"}`;
  save(name, head.note ?? `${JSON.stringify({ treeSize: head.size, rootHash: head.root })}\n`);
  return name;
}

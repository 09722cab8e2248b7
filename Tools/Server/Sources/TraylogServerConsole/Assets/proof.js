// Proofs (RFC 9162) and signed notes, computed in this browser with SHA-256 and Ed25519 of WebCrypto. Nothing here asks anybody.

export class Unproved extends Error {}

export async function sha256(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
}

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text, length = 32) {
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text) || text.length !== length * 2) {
    throw new Unproved("a hash is malformed");
  }
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export function fromBase64(text) {
  let characters;
  try {
    characters = atob(text);
  } catch {
    throw new Unproved("Base64 is malformed");
  }
  const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
  // One text for each value.
  if (btoa(characters) !== text) throw new Unproved("Base64 is malformed");
  return bytes;
}

const equal = (left, right) => left.length === right.length && left.every((byte, index) => byte === right[index]);
const node = (left, right) => sha256(Uint8Array.of(1), left, right);
const half = (number) => Math.floor(number / 2);

function sizes(...numbers) {
  if (!numbers.every((number) => Number.isSafeInteger(number) && number >= 0)) throw new Unproved("a size is malformed");
}

/** The parts of a leaf (Docs/internals/format.md, "Leaf"). */
export function readLeaf(bytes) {
  if (bytes.length !== 66) throw new Unproved(`the leaf has ${bytes.length} bytes, and should have 66`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const occurredAt = view.getBigInt64(26, true);
  return {
    version: bytes[0],
    kind: bytes[1],
    stream: view.getUint32(2, true),
    revision: view.getUint32(6, true),
    seq: Number(view.getBigUint64(10, true)),
    recordedAt: Number(view.getBigInt64(18, true)),
    occurredAt: occurredAt === -(2n ** 63n) ? null : Number(occurredAt),
    digest: bytes.slice(34),
  };
}

export const leafHash = (leaf) => sha256(Uint8Array.of(0), leaf);

/** Whether a leaf commits to a payload. */
export async function commits(leaf, salt, payload) {
  return equal(readLeaf(leaf).digest, await sha256(salt, payload));
}

/** The root that a leaf's hash and its path lead to (RFC 9162, section 2.1.3.2). */
export async function rootOfPath(index, size, hash, path) {
  sizes(index, size);
  if (index >= size) throw new Unproved("the event is not in this tree: the tree head is older");
  let [position, last, root] = [index, size - 1, hash];
  for (const step of path) {
    if (last === 0) throw new Unproved("the path is too long");
    if (position % 2 === 1 || position === last) {
      root = await node(step, root);
      while (position % 2 === 0 && position !== 0) [position, last] = [half(position), half(last)];
    } else {
      root = await node(root, step);
    }
    [position, last] = [half(position), half(last)];
  }
  if (last !== 0) throw new Unproved("the path is too short");
  return root;
}

/** Throws unless the tree of `second` begins with the tree of `first` (RFC 9162, section 2.1.4.2). */
export async function checkGrowth(first, second, path) {
  sizes(first.size, second.size);
  if (first.size > second.size) throw new Unproved("the first tree is the larger one");
  const [firstRoot, secondRoot] = [fromHex(first.root), fromHex(second.root)];
  if (first.size === second.size || first.size === 0) {
    if (path.length) throw new Unproved("the path should be empty");
    if (first.size === 0 && !equal(firstRoot, await sha256())) throw new Unproved("the empty tree has another root");
    if (first.size === second.size && !equal(firstRoot, secondRoot)) {
      throw new Unproved("two trees of one size have different roots: there were two logs");
    }
    return;
  }
  const steps = path.map((step) => fromHex(step));
  let [position, last] = [first.size - 1, second.size - 1];
  while (position % 2 === 1) [position, last] = [half(position), half(last)];
  // The tree of a power of two is its own first step.
  if (position === 0) steps.unshift(firstRoot);
  if (!steps.length) throw new Unproved("the path is too short");
  let [old, grown] = [steps[0], steps[0]];
  for (const step of steps.slice(1)) {
    if (last === 0) throw new Unproved("the path is too long");
    if (position % 2 === 1 || position === last) {
      [old, grown] = [await node(step, old), await node(step, grown)];
      while (position % 2 === 0 && position !== 0) [position, last] = [half(position), half(last)];
    } else {
      grown = await node(grown, step);
    }
    [position, last] = [half(position), half(last)];
  }
  if (last !== 0) throw new Unproved("the path is too short");
  if (!equal(old, firstRoot)) throw new Unproved("the path does not lead to the first root: the log was changed");
  if (!equal(grown, secondRoot)) throw new Unproved("the path does not lead to the second root: the log was changed");
}

/** The event that is proved, by its disclosure, its proof and a trusted head; each step is told as it passes. */
export async function checkEvent({ seq, proof, disclosure, head, tell = () => {} }) {
  sizes(seq, head.size);
  if (proof.leafIndex !== seq - 1) throw new Unproved("the proof is of another event");
  if (proof.treeSize !== head.size) throw new Unproved("the proof is for another tree");
  let hash = fromHex(proof.leafHash);
  let leaf = null;
  if (proof.leaf !== undefined) {
    const bytes = fromBase64(proof.leaf);
    leaf = readLeaf(bytes);
    if (leaf.seq !== seq) throw new Unproved(`the leaf is of event ${leaf.seq}`);
    if (disclosure) {
      const [salt, payload] = [fromBase64(disclosure.salt), fromBase64(disclosure.payload)];
      if (!(await commits(bytes, salt, payload))) {
        throw new Unproved("salt and payload are not what the leaf commits to: the content was changed");
      }
      tell("content", hex(leaf.digest));
    }
    const computed = await leafHash(bytes);
    if (!equal(computed, hash)) throw new Unproved("the leaf does not have the hash that the proof says");
    hash = computed;
    tell("leaf", hex(hash));
  }
  if (!Array.isArray(proof.path)) throw new Unproved("the proof has no path");
  const root = await rootOfPath(seq - 1, head.size, hash, proof.path.map((step) => fromHex(step)));
  if (!equal(root, fromHex(head.root))) {
    throw new Unproved("the path leads to another root: the log, or the tree head, was changed");
  }
  tell("root", hex(root));
  return leaf;
}

/**
 * Whether a head's size is that of its root: the last leaf is in its place. The path of another leaf fits several sizes.
 * False when the last event left the log, so that its leaf is not here.
 */
export async function checkSize(head, proof) {
  sizes(head.size);
  if (proof.leaf === undefined) return false;
  await checkEvent({ seq: head.size, proof, head });
  return true;
}

/** A signed note with a tree head: its text, size, root, and signatures. */
export function readNote(note) {
  const end = note.indexOf("\n\n");
  if (end < 0) throw new Unproved("the checkpoint has no signature");
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split("\n");
  if (!/^(0|[1-9][0-9]*)$/.test(size) || !Number.isSafeInteger(Number(size))) throw new Unproved("the checkpoint has no size");
  const bytes = fromBase64(root ?? "");
  if (bytes.length !== 32) throw new Unproved("the checkpoint has no root");
  const signatures = note
    .slice(end + 2)
    .split("\n")
    .filter((line) => line.startsWith("\u2014 "))
    .map((line) => line.split(" "))
    .filter((parts) => parts.length === 3)
    .map(([, name, signature]) => ({ name, bytes: fromBase64(signature) }));
  return { origin, text, size: Number(size), root: hex(bytes), signatures };
}

/** A public key, `name+id+base64`; its kind is 1 for Ed25519, and 4 for that of a witness. */
export async function readKey(text) {
  const [, name, id, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  if (!name) throw new Unproved("the public key is malformed: it looks like name+1a2b3c4d+A…");
  const bytes = fromBase64(encoded);
  if (bytes.length !== 33 || (bytes[0] !== 1 && bytes[0] !== 4)) throw new Unproved("the public key is not of Ed25519");
  const computed = (await sha256(new TextEncoder().encode(`${name}\n`), bytes)).slice(0, 4);
  if (hex(computed) !== id) throw new Unproved("the public key does not have the id that it says");
  return { name, id: computed, kind: bytes[0], bytes: bytes.slice(1) };
}

/** What a key says under a note, signature by signature, without the id. */
export const signaturesOf = ({ signatures }, { name, id }) =>
  signatures.filter((one) => one.name === name && equal(one.bytes.slice(0, 4), id)).map((one) => one.bytes.slice(4));

/** Whether a key has signed a message. */
export async function hasSigned(key, signature, message) {
  let imported;
  try {
    imported = await crypto.subtle.importKey("raw", key.bytes, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    throw new Unproved("this browser cannot check Ed25519: use traylog check");
  }
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
}

/** Throws unless the key, `name+id+base64`, has signed the note. */
export async function checkSignature(note, text) {
  const [read, key] = [readNote(note), await readKey(text)];
  if (key.kind !== 1) throw new Unproved("the public key is a witness's");
  const [signature] = signaturesOf(read, key);
  if (!signature) throw new Unproved(`${key.name} has not signed this checkpoint`);
  if (!(await hasSigned(key, signature, new TextEncoder().encode(read.text)))) {
    throw new Unproved("the signature is not of this checkpoint");
  }
}

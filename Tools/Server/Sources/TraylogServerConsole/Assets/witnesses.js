// Policies of witnesses (C2SP tlog-policy), and what they say about a signed tree head (C2SP tlog-cosignature).

import { hasSigned, readKey, readNote, signaturesOf, Unproved } from "./proof.js";

const mostBytes = 1 << 20;
// A witness's clock may be so many seconds ahead.
const tolerance = 300;
const utf8 = new TextEncoder();

/** The text of a file with a policy. */
export async function policyFrom(file) {
  if (file.size > mostBytes) throw new Error("it is over 1 MiB");
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  await readPolicy(text);
  return text;
}

/** Which logs may sign, which witnesses may cosign, and how many of these are a quorum. */
export async function readPolicy(text) {
  const policy = { logs: [], witnesses: [], groups: [], quorum: undefined };
  const [voters, grouped] = [new Map(), new Set()];
  const newKey = async (word) => {
    const key = await readKey(word);
    const isSame = (known) => known.bytes.every((byte, index) => byte === key.bytes[index]);
    // No log is its own witness, and none is named twice.
    if ([...policy.logs, ...policy.witnesses].some(isSame)) throw new Unproved("it names a key a second time");
    return key;
  };
  const define = (name, voter) => {
    if (name === "none" || voters.has(name)) throw new Unproved("it defines a name a second time");
    voters.set(name, voter);
  };
  const take = async (line) => {
    if ([...line].some((character) => (character < " " && character !== "\t") || character === "\x7f")) {
      throw new Unproved("it has a control character");
    }
    const words = line.split(/[ \t]+/).filter(Boolean);
    const [kind, name, third] = words;
    if (!words.length || kind.startsWith("#")) return;
    if (kind === "log" && (words.length === 2 || words.length === 3)) {
      policy.logs.push(await newKey(name));
    } else if (kind === "witness" && (words.length === 3 || words.length === 4)) {
      const key = await newKey(third);
      if (key.kind !== 4) throw new Unproved("its key is no witness's");
      define(name, { kind: "witnesses", index: policy.witnesses.length });
      policy.witnesses.push(key);
    } else if (kind === "group" && words.length >= 4) {
      const members = words.slice(3).map((member) => {
        if (!voters.has(member) || grouped.has(member)) throw new Unproved("it has a member that is unknown, or in a group already");
        grouped.add(member);
        return voters.get(member);
      });
      const threshold = { any: "1", all: String(members.length) }[third] ?? third;
      if (!/^[1-9][0-9]{0,9}$/.test(threshold) || Number(threshold) > members.length) {
        throw new Unproved(`it asks for more than its ${members.length} members`);
      }
      define(name, { kind: "groups", index: policy.groups.length });
      policy.groups.push({ threshold: Number(threshold), members });
    } else if (kind === "quorum" && words.length === 2 && policy.quorum === undefined) {
      if (name !== "none" && !voters.has(name)) throw new Unproved("it names what no line before defines");
      policy.quorum = voters.get(name) ?? null;
    } else {
      throw new Unproved("it is no line of a policy");
    }
  };
  for (const [index, line] of text.split("\n").entries()) {
    try {
      await take(line);
    } catch (failure) {
      throw new Unproved(`this is no policy of witnesses: line ${index + 1}: ${failure.message}`);
    }
  }
  if (policy.quorum === undefined) throw new Unproved("this is no policy of witnesses: a line 'quorum NAME' or 'quorum none' is missing");
  return policy;
}

/**
 * Throws unless the policy takes the note: signed by one of its logs, or by the key, and cosigned by a quorum.
 *
 * Answers with the sentence of `traylog check`: `signed by log.example, seen by 2 of 3 witnesses, the last 40 s ago`.
 */
export async function checkWitnesses(note, text, publicKey, now = Date.now() / 1000) {
  const [policy, read] = [await readPolicy(text), readNote(note)];
  const message = utf8.encode(read.text);
  let logs = policy.logs;
  if (publicKey) {
    const key = await readKey(publicKey);
    if (logs.length && !logs.some((log) => log.name === key.name && log.bytes.every((byte, index) => byte === key.bytes[index]))) {
      throw new Unproved("the policy does not name the log of the public key");
    }
    logs = [key];
  }
  if (!logs.length) throw new Unproved("the policy names no log: add a line 'log KEY', or give the public key");
  let signer;
  for (const log of logs) {
    if (log.name === read.origin && (await own(read, log, message)).length) signer ??= log;
  }
  if (!signer) throw new Unproved(`${logs.map((log) => log.name).join(", ")} has not signed this checkpoint`);
  const times = new Map();
  for (const [index, witness] of policy.witnesses.entries()) {
    const time = Math.max(...(await own(read, witness, message)));
    if (time > 0 && time <= now + tolerance) times.set(index, time);
  }
  const many = policy.witnesses.length;
  const seen = `seen by ${times.size} of ${many} witness${many === 1 ? "" : "es"}`;
  const reached = [];
  const has = ({ kind, index }) => (kind === "witnesses" ? times.has(index) : reached[index]);
  for (const { threshold, members } of policy.groups) reached.push(members.filter(has).length >= threshold);
  if (policy.quorum && !has(policy.quorum)) throw new Unproved(`the checkpoint is ${seen}, and the policy asks for more`);
  const last = times.size ? `, the last ${age(Math.max(0, now - Math.max(...times.values())))} ago` : "";
  return `signed by ${signer.name}, ${seen}${last}`;
}

/** The times of a key's signatures under a note, 0 without one; throws where a signature does not fit. */
async function own(read, key, message) {
  const times = [];
  for (const signature of signaturesOf(read, key)) {
    const time = key.kind === 1 ? 0n : timeOf(signature);
    const signed = key.kind === 1 ? message : new Uint8Array([...utf8.encode(`cosignature/v1\ntime ${time}\n`), ...message]);
    if (time === null || !(await hasSigned(key, key.kind === 1 ? signature : signature.slice(8), signed))) {
      throw new Unproved(`the signature of ${key.name} is not of this checkpoint`);
    }
    times.push(Number(time));
  }
  return times;
}

function timeOf(signature) {
  if (signature.length !== 72) return null;
  const time = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0);
  return time > 0n && time < 2n ** 63n ? time : null;
}

function age(seconds) {
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= 2 * unit) return `${Math.floor(seconds / unit)} ${name}`;
  }
  return `${Math.floor(seconds)} s`;
}

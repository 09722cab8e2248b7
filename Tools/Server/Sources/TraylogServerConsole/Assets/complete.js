// Complete histories, read in this browser: inclusion of every event, and no gap between revisions. It computes no tray.

import { announce, count, element, find, icon } from "./dom.js";
import { publicKey } from "./heads.js";
import { Unproved, checkEvent, checkSignature, fromBase64, readLeaf, readNote } from "./proof.js";

/** The lines of a file, one after the other. */
async function* lines(file) {
  let rest = "";
  const reader = file.stream().pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    yield* parts;
  }
  if (rest) throw new Unproved("the last line has no end: the file was cut off");
}

/** Notes the events of one stream, whose revisions must follow on each other. */
class Stream {
  constructor(name) {
    this.name = name;
    this.number = null;
    this.revision = null;
  }

  take(leaf) {
    this.number ??= leaf.stream;
    if (leaf.stream !== this.number) throw new Unproved(`event ${leaf.seq} is of another stream than ${this.name}`);
    if (this.revision !== null && leaf.revision <= this.revision) {
      throw new Unproved(`revision ${leaf.revision} of ${this.name} comes a second time`);
    }
    if (this.revision !== null && leaf.revision > this.revision + 1) this.missing(leaf.revision - 1);
    this.revision = leaf.revision;
  }

  /** Throws for what lies between the newest revision and another one. */
  missing(last) {
    const first = this.revision + 1;
    throw new Unproved(first === last ? `revision ${first} of ${this.name} is missing`
      : `revisions ${first} to ${last} of ${this.name} are missing`);
  }
}

/** Checks a file; says whose it is, how many events it has, and the tree head that it is about. */
export async function checkComplete(file, tell = () => {}) {
  let head = null;
  let own = null;
  let [last, events] = [0, 0];
  let closing = null;
  const topics = new Map();
  for await (const line of lines(file)) {
    const value = JSON.parse(line);
    if (!head) {
      if (!value.complete || !value.treeHead) throw new Unproved("it is no complete history");
      head = { size: value.treeHead.treeSize, root: value.treeHead.rootHash, note: value.treeHead.checkpoint };
      own = new Stream(value.user);
      own.revision = 0;
      continue;
    }
    if (!value.proof || value.role === "actor") continue;
    const seq = value.proof.seq;
    await checkEvent({ seq, proof: value.proof, disclosure: value.disclosed, head });
    const leaf = readLeaf(fromBase64(value.proof.leaf));
    if (seq <= last) throw new Unproved(`event ${seq} comes after event ${last}`);
    last = seq;
    events += 1;
    if (events % 1000 === 0) tell(events);
    if (value.names) continue;
    if (value.topic === undefined) {
      own.take(leaf);
      closing = value.event;
      for (const revision of namedRevisions(value.event)) compare(topics, revision, seq);
    } else {
      const topic = topics.get(value.topic);
      if (!topic) throw new Unproved(`event ${seq} is of topic ${value.topic}, which nobody joined before`);
      topic.take(leaf);
    }
  }
  if (!head) throw new Unproved("the file is empty");
  if (closing?.kind === "erased") return { user: own.name, events, head, erased: true };
  if (closing?.kind !== "audited" || last !== head.size) throw new Unproved("the end is missing: it is the event 'audited'");
  return { user: own.name, events, head, erased: false };
}

/** Whether the file's checkpoint is of its own tree, and signed by the key that this browser keeps. */
async function isSigned({ size, root, note }) {
  if (!note || !publicKey()) return false;
  const own = readNote(note);
  if (own.size !== size || own.root !== root) return false;
  await checkSignature(note, publicKey());
  return true;
}

/** What an event of the user says of topics: how many events they had by then. */
function namedRevisions(event) {
  if (event.kind === "subscribed" || event.kind === "unsubscribed") {
    return [{ topic: event.topic, revision: event.topicRevision ?? 0, joins: event.kind === "subscribed" }];
  }
  return event.kind === "audited" ? event.topicRevisions ?? [] : [];
}

function compare(topics, { topic, revision, joins }, seq) {
  if (!topics.has(topic)) {
    if (!joins) throw new Unproved(`event ${seq} names topic ${topic}, which nobody joined before`);
    const stream = new Stream(`topic ${topic}`);
    stream.revision = revision;
    topics.set(topic, stream);
  }
  const stream = topics.get(topic);
  if (stream.revision < revision) stream.missing(revision);
  if (stream.revision > revision) throw new Unproved(`event ${seq} says that topic ${topic} had ${revision} events by then`);
}

/** Lets the page check files, against the tree heads that this browser keeps. */
export function watchComplete(keptHeads) {
  const panel = find("[data-complete]");
  const list = find("[data-complete-checks]");
  const line = (state, text) => list.append(
    element("li", { class: state }, icon(state.includes("bad") ? "cross" : "check"), element("span", {}, text)));
  panel.hidden = false;
  find("[data-complete-file]").addEventListener("change", async (event) => {
    for (const file of event.target.files) {
      list.replaceChildren();
      try {
        const found = await checkComplete(file, (events) => announce(`${count(events)} events`));
        line("good", `${count(found.events)} events of ${found.user} and of topics, each in the tree of ${count(found.head.size)} events; `
          + "no revision is missing");
        const kept = keptHeads().find((head) => head.size === found.head.size);
        if (kept && kept.root !== found.head.root) throw new Unproved("the tree head that this browser keeps has another root");
        if (kept) line("good verdict", "Proved against the tree head that this browser keeps.");
        else if (await isSigned(found.head)) line("good verdict", "Proved against the tree head in the file, which the key that you trust has signed.");
        else line("bad verdict", `Keep the tree head of ${count(found.head.size)} events first: this proves nothing as long as only the file says it.`);
      } catch (failure) {
        line("bad verdict", `Not proved: ${failure.message}.`);
      }
      announce(list.lastChild.textContent);
    }
  });
}

// Reads the payload of an event: the Protocol Buffers message of Docs/internals/format/event.proto.

import { Unproved } from "./proof.js";

// A byte order mark at the beginning belongs to the text.
const text = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
const time = (value) => new Date(Number((value >> 1n) ^ -(value & 1n))).toISOString();
const levels = ["", "passive", "active", "timeSensitive", "critical"];
const marks = ["", "seen", "read", "unread", "archived", "unarchived", "deleted", "restored"];

/** Kinds of event by their number in the leaf. */
export const kinds = ["", "notified", "traySeen", "marked", "allMarked", "muted", "unmuted", "snoozed", "woken", "edited",
  "retracted", "subscribed", "unsubscribed", "broadcast", "undone", "expired", "erased", "compacted", "held", "released", "lost", "acted",
  "reminded", "audited", "arrived"];

/** Names and values that a reader sees, by the number of the field. */
const fields = {
  1: ["user", text], 2: ["topic", text], 3: ["key", text], 4: ["actor", text], 5: ["device", text],
  10: ["thread", text], 11: ["category", text], 12: ["title", text], 13: ["body", text], 14: ["summaryArgument", text],
  15: ["summaryCount", String], 16: ["silent", (value) => String(value !== 0n)], 17: ["level", (value) => levels[Number(value)]],
  18: ["expiresAt", time], 19: ["collapseKey", text], 20: ["data", text], 21: ["notBefore", time], 22: ["itemKey", text], 23: ["notifiedAt", time], 24: ["upTo", String],
  25: ["as", (value) => marks[Number(value)]], 27: ["item", String], 28: ["until", time], 30: ["event", String],
  32: ["dropped", String], 33: ["archive", text], 34: ["through", String], 35: ["topicRevision", String],
  36: ["all", (value) => String(value !== 0n)],
  37: ["remindAt", time], 40: ["action", text], 41: ["note", text], 42: ["purpose", text],
};

export function readPayload(bytes) {
  const found = {};
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (at >= bytes.length) break;
      const byte = bytes[at++];
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Unproved("the payload is malformed");
  };
  const take = (length) => {
    if (at + length > bytes.length) throw new Unproved("the payload is malformed");
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const [number, wire] = [tag >> 3, tag & 7];
    let value;
    if (wire === 0) value = varint();
    else if (wire === 1) value = take(8);
    else if (wire === 2) value = take(Number(varint()));
    else if (wire === 5) value = take(4);
    else throw new Unproved("the payload is malformed");
    const [name, read] = fields[number] ?? [];
    if (name && (wire === 2) === (read === text)) found[name] = read(value);
  }
  return found;
}

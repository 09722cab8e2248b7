// The events of a tray along a line: their numbers, the unread items after each, and when they were recorded.

import { colour, count, drawing, element, find, localTime, utcTime, timesMode } from "./dom.js";

/** Position 0 is before the first event. `times` has some positions with their times, `looks` those where the user saw the tray;
 * both ascending. */
export const moments = { seqs: [0], unread: [0], times: [], looks: [] };
/** The positions that the line shows: all, or a part after zooming in. */
export const span = { from: 0, to: 0 };

const last = () => moments.seqs.length - 1;

export function decode(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  const [seqs, unread, times, looks] = [[number()], [number()], [], []];
  let [position, time] = [0, 0];
  for (let left = number(); left > 0; left -= 1) {
    position += number();
    time += number();
    times.push({ position, time });
  }
  position = 0;
  for (let left = number(); left > 0; left -= 1) looks.push((position += number()));
  while (at < bytes.length) {
    seqs.push(seqs.at(-1) + number());
    const zigzag = number();
    unread.push(unread.at(-1) + (zigzag % 2 ? -(zigzag + 1) / 2 : zigzag / 2));
  }
  Object.assign(moments, { seqs, unread, times, looks });
  Object.assign(span, { from: 0, to: last() });
}

/** One more event, which came now; `isLook` for one that made items seen and read none. */
export function append(seq, unread, isLook) {
  const wasWhole = span.to === last();
  moments.seqs.push(seq);
  moments.unread.push(unread);
  moments.times.push({ position: last(), time: Date.now() });
  if (isLook) moments.looks.push(last());
  if (wasWhole) span.to = last();
}

/** The last index whose value is at or below a number; 0 when none is. */
function search(length, value, number) {
  let [low, high] = [0, length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (value(middle) <= number) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The last position whose event is at or before a seq. */
export const positionOf = (seq) => search(moments.seqs.length, (index) => moments.seqs[index], seq);

/** About when the event of a position was recorded: exact where its time came, else between its neighbours. */
export function timeAt(position) {
  const { times } = moments;
  if (!times.length || position < times[0].position) return undefined;
  const index = search(times.length, (at) => times[at].position, position);
  const [before, after] = [times[index], times[index + 1]];
  if (!after || before.position === position) return new Date(before.time);
  const part = (position - before.position) / (after.position - before.position);
  return new Date(before.time + part * (after.time - before.time));
}

const written = (time) => (timesMode() === "utc" ? utcTime(time) : localTime(time));

/** `2026-03-14 09:12, 3,557 unread`, for the bubble and for screen readers. */
export function words(position) {
  const time = timeAt(position);
  const look = moments.looks.includes(position) ? ", the user saw the tray" : "";
  return `${time ? written(time).slice(0, 16) : "before the first event"}, ${count(moments.unread[position])} unread${look}`;
}

/** Shows half as much around a position, or twice as much. */
export function zoom(position, factor) {
  const size = Math.min(last(), Math.max(10, Math.round((span.to - span.from) * factor)));
  const from = Math.min(Math.max(0, Math.round(position - size / 2)), last() - size);
  Object.assign(span, { from, to: from + size });
}

/** Moves the shown part so that it has a position. */
export function include(position) {
  if (position >= span.from && position <= span.to) return;
  const size = span.to - span.from;
  const from = position < span.from ? position : position - size;
  Object.assign(span, { from, to: from + size });
}

const edge = 18;

/** Where a position is on the line, in pixels. */
export const place = (position, width) => edge + ((width - 2 * edge) * (position - span.from)) / Math.max(1, span.to - span.from);

export function chart(canvas, position) {
  const { context, width, height } = drawing(canvas);
  const { unread } = moments;
  const shown = span.to - span.from + 1;
  const [left, right, floor] = [edge, width - edge, height - 12];
  // The greatest and the least of each column, so that no peak is lost.
  const columns = Math.min(shown, Math.round(right - left));
  const points = [];
  let most = 1;
  for (let column = 0; column < columns; column += 1) {
    const from = span.from + Math.floor((column * shown) / columns);
    const to = Math.max(from + 1, span.from + Math.floor(((column + 1) * shown) / columns));
    let [low, high] = [Infinity, 0];
    for (let index = from; index < to; index += 1) {
      low = Math.min(low, unread[index]);
      high = Math.max(high, unread[index]);
    }
    most = Math.max(most, high);
    points.push([from, high], [to - 1, low]);
  }
  points.push([span.to, unread[span.to]]);
  const y = (value) => floor - (value / most) * (floor - 20);
  context.beginPath();
  context.moveTo(left, floor);
  for (const [index, value] of points) context.lineTo(place(index, width), y(value));
  context.lineTo(right, floor);
  context.closePath();
  context.fillStyle = colour("--accent-soft");
  context.fill();
  context.strokeStyle = colour("--accent-line");
  context.stroke();
  // A tick for each look; those of one pixel are one.
  context.fillStyle = colour("--good");
  let drawn = -1;
  for (const look of moments.looks) {
    const x = Math.round(place(look, width));
    if (look < span.from || look > span.to || x === drawn) continue;
    context.fillRect(x - 0.5, floor + 1, 1, 6);
    drawn = x;
  }
  context.fillStyle = colour("--accent");
  context.fillRect(place(position, width) - 0.75, 4, 1.5, floor - 2);
  context.fillStyle = colour("--soft");
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  if (width > 480) context.fillText(`most ${count(most)} unread${moments.looks.length ? "; ticks: the user saw the tray" : ""}`, left + 4, 12);
}

const day = 86400000;

/** Dates under the line, as many as there is room for, none twice. */
export function scale(list, width) {
  const [first, end] = [timeAt(Math.max(span.from, 1)), timeAt(span.to)];
  if (!first || !end) return list.replaceChildren();
  const length = end - first;
  const cut = length < day ? [11, 16] : length < 2 * day ? [5, 16] : [0, 10];
  if (length < 60000) cut[1] = 19;
  const marks = Math.max(2, Math.min(7, Math.floor(width / (length < 60000 ? 190 : 130))));
  let before = "";
  list.replaceChildren(...Array.from({ length: marks }, (_, index) => {
    const position = Math.max(1, Math.round(span.from + ((span.to - span.from) * index) / (marks - 1)));
    const time = timeAt(position);
    const text = written(time).slice(...(index === 0 && cut[0] > 0 ? [0, cut[1]] : cut));
    const mark = element("span", {}, text === before ? "" : text);
    before = text;
    mark.style.left = `${place(position, width)}px`;
    return mark;
  }));
}

// The difference of two texts as lines to look at: what goes, what comes, and a little around it.

import { say } from "./texts.js";

// Lines of context on each side, lines that are shown at most, and characters of each.
const AROUND = 3;
const MAX_LINES = 1500;
const MAX_LINE = 1000;
// Pairs of lines that are compared at most; beyond, what is replaced is shown as one block.
const MAX_PAIRS = 4_000_000;
// What a reader would not see, or would see as something else: control characters, and those
// that turn the direction of writing around.
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with the characters spelled out that nobody would see. */
export const visible = (text) => text.replace(HIDDEN, (it) => `<U+${number(it)}>`);

const number = (it) => it.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** `[{sign, text}]`, sign one of "-", "+", " ", and "@" for a remark. */
export function difference(before, after) {
  const [old, now] = both(before, after);
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  const most = Math.min(old.length, now.length) - head;
  while (tail < most && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const gone = old.slice(head, old.length - tail);
  const come = now.slice(head, now.length - tail);
  const isCoarse = gone.length * come.length > MAX_PAIRS;
  const middle = isCoarse ? [...marked("-", gone), ...marked("+", come)] : common(gone, come);
  const all = [
    ...marked(" ", old.slice(0, head)), ...middle, ...marked(" ", old.slice(old.length - tail)),
  ];
  if (!middle.length) return [remark(say("nothing"))];
  const shown = cut(folded(all));
  return isCoarse ? [remark(say("diffCoarse")), ...shown] : shown;
}

const remark = (text) => ({ sign: "@", text });
const marked = (sign, lines) => lines.map((text) => ({ sign, text }));

/** Both as lines. Line ends are only told where they differ. */
function both(before, after) {
  const windows = [before, after].every((text) => !/(^|[^\r])\n/.test(text));
  return [before, after].map((text) => lines(windows ? text.replaceAll("\r\n", "\n") : text));
}

function lines(text) {
  const found = text.split("\n");
  const last = found.pop();
  if (last) found.push(`${last} ${say("noEnd")}`);
  return found;
}

/** The longest common subsequence, by the table of its lengths. */
function common(old, now) {
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      lengths[at] = old[i] === now[j]
        ? lengths[at + width + 1] + 1
        : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  return walked(old, now, lengths, width);
}

function walked(old, now, lengths, width) {
  const found = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    const at = i * width + j;
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push({ sign: " ", text: old[i] });
      i += 1;
      j += 1;
    } else if (i < old.length && (j === now.length || lengths[at + width] >= lengths[at + 1])) {
      found.push({ sign: "-", text: old[i] });
      i += 1;
    } else {
      found.push({ sign: "+", text: now[j] });
      j += 1;
    }
  }
  return found;
}

/** Without what is far from every change. */
function folded(all) {
  const near = new Uint8Array(all.length);
  all.forEach(({ sign }, at) => {
    if (sign !== " ") near.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const shown = [];
  for (let at = 0; at < all.length; at += 1) {
    if (near[at]) {
      shown.push(all[at]);
      continue;
    }
    const start = at;
    while (at + 1 < all.length && !near[at + 1]) at += 1;
    shown.push(remark(say("unchanged", at - start + 1)));
  }
  return shown;
}

function cut(all) {
  const shown = all.slice(0, MAX_LINES).map(({ sign, text }) => ({ sign, text: shortened(text) }));
  if (all.length > MAX_LINES) shown.push(remark(say("diffCut", all.length - MAX_LINES)));
  return shown;
}

function shortened(text) {
  const rest = text.length - MAX_LINE;
  return rest > 0 ? visible(text.slice(0, MAX_LINE)) + say("lineCut", rest) : visible(text);
}

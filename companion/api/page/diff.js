// The difference of two texts as lines to look at: what goes, what comes, and a little around it.

import { say } from "./texts.js";
// It is no module: it brings a global one.
import "./vendor/diff.js";

// Lines of context on each side, lines that are shown at most, and characters of each.
const AROUND = 3;
const MAX_LINES = 1500;
const MAX_LINE = 1000;
// Milliseconds for the comparison; beyond, what is replaced is shown as one block.
const MAX_TIME = 1000;
// What a reader would not see, or would see as something else: control characters, and those
// that turn the direction of writing around.
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with the characters spelled out that nobody would see. */
export const visible = (text) => text.replace(HIDDEN, (it) => `<U+${number(it)}>`);

const number = (it) => it.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

/** `[{sign, text}]`, sign one of "-", "+", " ", and "@" for a remark. */
export function difference(before, after) {
  const [old, now] = both(before, after);
  const parts = globalThis.Diff.diffArrays(old, now, { timeout: MAX_TIME });
  const all = parts
    ? parts.flatMap(({ added, removed, value }) => marked(added ? "+" : removed ? "-" : " ", value))
    : [...marked("-", old), ...marked("+", now)];
  if (all.every(({ sign }) => sign === " ")) return [remark(say("nothing"))];
  const shown = cut(folded(all));
  return parts ? shown : [remark(say("diffCoarse")), ...shown];
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

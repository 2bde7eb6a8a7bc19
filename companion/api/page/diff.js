// The difference of two texts as lines to look at: what goes, what comes, and a little around it.

import { button, make } from "./dom.js";
import { say } from "./texts.js";
// It is no module: it brings a global one.
import "./vendor/diff.js";

// Lines of context on each side, lines that are shown at once, and characters of each.
const AROUND = 3;
const MAX_LINES = 1500;
const MAX_LINE = 1000;
// Milliseconds for the comparison; beyond, what is replaced is shown as one block.
const MAX_TIME = 1000;

/** The change as a figure. What is too long to be shown at once can be unfolded. */
export function figureOf(diff) {
  const rows = difference(diff);
  const text = make("pre", { class: "diff", tabindex: "0" });
  const showMore = () => {
    text.append(...rows.splice(0, MAX_LINES).map(row));
    if (rows.length) text.append(opener(say("moreLines", rows.length), showMore));
  };
  showMore();
  return make("figure", { "aria-label": say("change") },
    make("figcaption", {}, diff.shown.path), text);
}

function row({ sign, text }) {
  const kind = { "+": "come", "-": "gone", "@": "remark" }[sign] || "same";
  if (sign === "@") return make("span", { class: kind }, text);
  const rest = text.length - MAX_LINE;
  if (rest <= 0) return make("span", { class: kind }, `${sign} ${text}`);
  const line = make("span", { class: kind }, `${sign} ${text.slice(0, MAX_LINE)}`);
  line.append(opener(say("lineCut", rest), () => line.append(text.slice(MAX_LINE))));
  return line;
}

/** A button that is replaced by what it stands for. */
function opener(label, open) {
  const element = button(label, () => {
    element.closest("pre").focus();
    element.remove();
    open();
  }, "more");
  return element;
}

/** `[{sign, text}]`, sign one of "-", "+", " ", and "@" for a remark. */
function difference({ oldText, newText, shown }) {
  const [old, now] = both(oldText, newText);
  const seen = [
    shown.oldText === undefined ? old : lines(shown.oldText),
    shown.newText === undefined ? now : lines(shown.newText),
  ];
  const parts = globalThis.Diff.diffArrays(old, now, { timeout: MAX_TIME });
  const all = parts
    ? asSeen(parts, seen)
    : [...marked("-", seen[0]), ...marked("+", seen[1])];
  if (all.every(({ sign }) => sign === " ")) return [remark(say("nothing"))];
  const rows = folded(all);
  return parts ? rows : [remark(say("diffCoarse")), ...rows];
}

/** The parts' lines in the form in which they are to be seen. */
function asSeen(parts, [old, now]) {
  let before = 0;
  let after = 0;
  return parts.flatMap(({ added, removed, value: { length } }) => {
    const found = removed ? old.slice(before, before + length) : now.slice(after, after + length);
    if (!added) before += length;
    if (!removed) after += length;
    return marked(added ? "+" : removed ? "-" : " ", found);
  });
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

// A run of an answer's text, which grows. Blocks that are complete are never touched again, and one that
// has no end is drawn piece by piece, so that long answers do not become slow. What is drawn depends on
// the text alone, however it came.

import { make } from "./dom.js";
import { blocks, elements, frame } from "./markdown.js";

// Characters that are drawn at a time, where that is enough to see the end of a block.
const PIECE = 4000;
// Milliseconds of a frame that go into drawing.
const BUDGET = 12;

// The runs that have something to draw.
const waiting = new Set();
let coming = 0;

function soon(run) {
  waiting.add(run);
  coming ||= requestAnimationFrame(drawSome);
}

function drawSome() {
  coming = 0;
  const end = performance.now() + BUDGET;
  for (const run of waiting) {
    let isMore = true;
    while (isMore && performance.now() < end) isMore = run.step();
    if (isMore) break;
    waiting.delete(run);
  }
  if (waiting.size) coming = requestAnimationFrame(drawSome);
}

/** As much of a text as fits into `size`, to the end of a line or a word where there is one. */
function beginning(text, size) {
  if (text.length <= size) return text;
  const ends = ["\n", " "].map((sign) => text.lastIndexOf(sign, size - 1) + 1);
  const whole = /[\uD800-\uDBFF]/.test(text[size - 1]) ? size - 1 : size;
  return text.slice(0, ends.find((end) => end > size / 2) || whole);
}

/** Where to cut a paragraph: before a line that can be nothing but more of it, or else a line, or else a
 * word. */
function place(text) {
  const ends = [...text.matchAll(/\n(?=\p{L})/gu)].map(({ index }) => index);
  const found = [ends.pop(), text.trimEnd().lastIndexOf("\n"), text.trimEnd().lastIndexOf(" ")];
  return found.find((at) => at > 0) || text.length;
}

const raw = (tokens) => tokens.map((token) => token.raw).join("");

function cutText(token) {
  const at = place(token.raw);
  return { head: blocks(token.raw.slice(0, at)), rest: token.raw.slice(at).replace(/^[\n ]/, "") };
}

// By the type of a block, its beginning and the rest of it, which is a block by itself; null where it
// cannot be told from the beginning.
const CUTS = {
  blockquote: () => null,
  list(token) {
    const items = token.items.slice(0, -1);
    const { length } = raw(items);
    return length ? { head: [{ ...token, items }], rest: token.raw.slice(length) } : null;
  },
  table(token) {
    const rows = token.rows.slice(0, -1);
    const lines = token.raw.split("\n");
    // Each piece has the heads of the columns before it.
    const rest = [lines[0], lines[1], ...lines.slice(2 + rows.length)].join("\n");
    return rows.length ? { head: [{ ...token, rows }], rest } : null;
  },
  code(token) {
    const lines = token.raw.split("\n");
    const isFenced = token.codeBlockStyle !== "indented";
    // Blank lines at the end of an indented block are none of it; the last line may be the fence.
    const at = lines.findLastIndex((line, place) =>
      /\S/.test(line) && (isFenced || /\S/.test(lines[place - 1])));
    const head = lines.slice(0, at).map((line) => `${line}\n`).join("");
    const rest = [...lines.slice(0, isFenced ? 1 : 0), ...lines.slice(at)].join("\n");
    return at > 1 ? { head: blocks(head), rest } : null;
  },
};

// By the type of a block, how more of it is put into what is drawn of it; gives what is new there.
const JOINS = {
  paragraph(into, more) {
    const slice = make("span", { class: "slice" }, ...more.childNodes);
    into.append(slice);
    return [slice];
  },
  list: (into, more) => moved(into, more.children),
  table: (into, more) => moved(into.querySelector("tbody"), more.querySelectorAll("tbody > tr")),
  code: (into, more) => moved(into.firstChild, more.firstChild.childNodes),
};

function moved(into, some) {
  const all = [...some];
  into.append(...all);
  return all;
}

export class Prose {
  constructor(parent) {
    this.rest = "";
    this.size = PIECE;
    this.isClosed = false;
    // Resolves when nothing more comes and all of it is drawn.
    this.drawn = new Promise((done) => Object.assign(this, { done }));
    // The block of which only the beginning is drawn for good: `{type, element}`.
    this.growing = null;
    // What is drawn of the end, and drawn anew with each piece of text.
    this.open = [];
    this.box = make("div", { class: "prose" });
    parent.append(this.box);
  }

  add(text) {
    this.rest += text;
    soon(this);
  }

  /** Nothing more comes. What is short is drawn at once. */
  close() {
    this.isClosed = true;
    if (this.rest.length > PIECE || this.step()) soon(this);
    else waiting.delete(this);
  }

  /** Draws some of the rest; whether there is more of it to be drawn. */
  step() {
    for (const each of this.open.splice(0)) each.remove();
    const piece = beginning(this.rest, this.size);
    const later = this.rest.slice(piece.length);
    const tokens = blocks(piece);
    const isEnd = this.isClosed && !later;
    const ended = isEnd ? tokens.length : lastBlock(tokens);
    if (ended) this.settle(tokens, ended, later);
    else if (later) this.cut(tokens, later);
    if (!later && !isEnd) this.open = this.draw(tokens.slice(ended));
    if (isEnd) this.finish();
    return Boolean(later);
  }

  /** Draws the first blocks, which are complete. */
  settle(tokens, count, later) {
    this.draw(tokens.slice(0, count), (made) => made.querySelectorAll("pre > code").forEach(frame));
    this.endGrowth();
    this.rest = raw(tokens.slice(count)) + later;
    this.size = PIECE;
  }

  /** Draws the beginning of a block that goes on behind what is looked at. */
  cut([token, ...others], later) {
    const found = (CUTS[token.type] || cutText)(token);
    if (!found) {
      this.size *= 2;
      return;
    }
    const isMore = this.goesOn(token);
    this.draw(found.head);
    if (!isMore) this.grow(token);
    this.rest = found.rest + raw(others) + later;
    this.size = PIECE;
  }

  /** Puts blocks behind what is drawn, the first one into the one that it goes on with; gives what is
   * new. `prepare` sees the others before. */
  draw(tokens, prepare = () => {}) {
    const made = elements(tokens);
    const first = this.goesOn(tokens[0]) ? made.firstElementChild : null;
    first?.remove();
    prepare(made);
    const joined = first ? JOINS[tokens[0].type](this.growing.element, first) : [];
    return [...joined, ...moved(this.box, made.childNodes)];
  }

  goesOn(token) {
    return token !== undefined && token.type === this.growing?.type;
  }

  /** What was drawn last is the beginning of this block. */
  grow({ type }) {
    this.endGrowth();
    if (JOINS[type]) this.growing = { type, element: this.box.lastElementChild };
  }

  endGrowth() {
    if (this.growing?.type === "code") frame(this.growing.element.firstChild);
    this.growing = null;
  }

  finish() {
    this.endGrowth();
    if (!this.box.textContent.trim()) this.box.remove();
    this.done();
  }
}

/** The place of the last block; the blank lines behind it may be those within it. */
function lastBlock(tokens) {
  return Math.max(0, tokens.findLastIndex(({ type }) => type !== "space"));
}

// The Markdown of an answer as elements. What the model says is never HTML: tags in it are shown as
// they were written, pictures and links to anything but pages and addresses are too, and what comes
// out of the library is cleaned before it becomes part of the page.

import { button, make } from "./dom.js";
import { say } from "./texts.js";
import hljs from "./vendor/highlight.js";
import { Marked } from "./vendor/marked.js";
import DOMPurify from "./vendor/purify.js";

// Characters of a block of code that get colours.
const MAX_COLOURED = 50_000;
const SAFE = /^(https?:|mailto:)/i;
const CLEAN = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", "class", "start", "title"],
  ALLOWED_URI_REGEXP: SAFE,
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_TRUSTED_TYPE: true,
};
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;" };
const escaped = (text) => text.replace(/[&<>"']/g, (sign) => SIGNS[sign]);

const marked = new Marked({ gfm: true, breaks: true, renderer: {
  html: ({ raw }) => escaped(raw),
  image: ({ raw }) => escaped(raw),
  checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  code: ({ text, lang }) =>
    `<pre><code class="${escaped(`language-${word(lang)}`)}">${escaped(text)}\n</code></pre>`,
  // The page has headings of its own above those of an answer.
  heading({ tokens, depth }) {
    const name = `h${Math.min(depth + 2, 6)}`;
    return `<${name}>${this.parser.parseInline(tokens)}</${name}>\n`;
  },
  link({ href, raw, tokens }) {
    if (!SAFE.test(href)) return escaped(raw);
    return `<a href="${escaped(href)}" title="${escaped(href)}">${this.parser.parseInline(tokens)}</a>`;
  },
} });

const word = (lang) => (lang || "").split(/\s/)[0];

function elements(tokens) {
  const box = document.createElement("div");
  box.innerHTML = DOMPurify.sanitize(marked.parser(tokens), CLEAN);
  for (const link of box.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer";
  }
  for (const each of box.querySelectorAll("pre")) each.tabIndex = 0;
  for (const each of box.querySelectorAll("table")) {
    const frame = make("div", { class: "table", tabindex: "0" });
    each.replaceWith(frame);
    frame.append(each);
  }
  return box;
}

/** Puts colours into code whose language is known, or can be told from the name of a file. */
export function colour(code, language) {
  const text = code.textContent;
  if (!hljs.getLanguage(language) || text.length > MAX_COLOURED) return;
  const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
  code.innerHTML = DOMPurify.sanitize(value, { ...CLEAN, ALLOWED_TAGS: ["span"] });
}

/** Blocks of code with their language, colours, and a button that copies them. */
function finish(box) {
  for (const code of box.querySelectorAll("pre > code")) {
    const language = [...code.classList].find((it) => it.startsWith("language-"))?.slice(9) || "";
    const text = code.textContent;
    colour(code, language);
    const frame = make("div", { class: "code" });
    code.parentElement.replaceWith(frame);
    frame.append(make("div", { class: "code-head" }, make("span", {}, language), copier(text)),
      code.parentElement);
  }
  return box;
}

function copier(text) {
  const element = button(say("copy"), async () => {
    try {
      await navigator.clipboard.writeText(text);
      element.textContent = say("copied");
    } catch {
      element.textContent = say("notCopied");
    }
  }, "copy");
  return element;
}

/** A run of the answer's text, which grows. Blocks that are complete are never touched again, so that
 * long answers do not become slow. */
export class Prose {
  constructor(parent) {
    this.rest = "";
    this.frame = 0;
    this.tail = make("div", { class: "tail" });
    this.box = make("div", { class: "prose" }, this.tail);
    parent.append(this.box);
  }

  add(text) {
    this.rest += text;
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.frame = 0;
    const tokens = marked.lexer(this.rest);
    let last = tokens.length - 1;
    while (last > 0 && tokens[last].type === "space") last -= 1;
    const { links } = tokens;
    const done = Object.assign(tokens.slice(0, last), { links });
    const open = Object.assign(tokens.slice(last), { links });
    if (done.length) {
      this.tail.before(...finish(elements(done)).childNodes);
      this.rest = open.map(({ raw }) => raw).join("");
    }
    this.tail.replaceChildren(...elements(open).childNodes);
  }

  /** Nothing more comes. */
  close() {
    cancelAnimationFrame(this.frame);
    this.tail.replaceWith(...finish(elements(marked.lexer(this.rest))).childNodes);
    this.rest = "";
    if (!this.box.textContent.trim()) this.box.remove();
  }
}

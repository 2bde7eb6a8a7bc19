// The Markdown of an answer as elements. What the model says is never HTML: tags in it are shown as
// they were written, pictures and links to anything but pages and addresses are too, and what comes
// out of the library is cleaned before it becomes part of the page.

import { button, make } from "./dom.js";
import { bare, formulas } from "./formulas.js";
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
  ALLOWED_ATTR: ["align", "class", "href", "start", "title"],
  ALLOWED_URI_REGEXP: SAFE,
  // Their values are no addresses.
  ADD_URI_SAFE_ATTR: ["align", "start"],
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
  listitem({ task, tokens }) {
    return `<li${task ? " class=\"task\"" : ""}>${this.parser.parse(tokens)}</li>\n`;
  },
  code({ text, lang }) {
    const lines = text && text.replace(/\n?$/, "\n");
    return `<pre><code class="${escaped(`language-${word(lang)}`)}">${escaped(lines)}</code></pre>`;
  },
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

marked.use(formulas((text, isBlock) => {
  const name = isBlock ? "p" : "span";
  const formula = bare(text);
  const shown = formula === undefined ? escaped(text) : `<code>${escaped(formula)}</code>`;
  return `<${name} class="formula">${shown}</${name}>`;
}));

const word = (lang) => (lang || "").split(/\s/)[0];

/** The blocks of a text, as tokens. */
export const blocks = (text) => marked.lexer(text);

/** What they look like, in a box that is thrown away. */
export function elements(tokens) {
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

/** A complete block of code with its language, colours, and a button that copies it. */
export function frame(code) {
  const language = [...code.classList].find((it) => it.startsWith("language-"))?.slice(9) || "";
  const text = code.textContent;
  colour(code, language);
  const box = make("div", { class: "code" });
  code.parentElement.replaceWith(box);
  box.append(make("div", { class: "code-head" }, make("span", {}, language), copier(text)),
    code.parentElement);
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

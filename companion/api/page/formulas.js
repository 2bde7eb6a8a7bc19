// Formulas stay the text that they are: Markdown would take their backslashes and make emphasis of their
// underscores and stars. Those between marks that nothing else uses are shown as code without the marks; what
// stands between single dollars may only look like one and is shown with them, so that nothing is lost by a
// mistake.

// A single dollar has something right behind it, the other one right before it and no digit behind it:
// these are no prices.
const DOLLAR = /\$(?![\s$])(?:[^$\n\\]|\\[^\n])*?(?:[^$\s\\]|\\[^\n])\$(?![\d$])/;
const DISPLAY = /\$\$(?:(?!\n[ \t]*\n)[^$])+\$\$|\\\[(?:(?!\\\]|\n[ \t]*\n)[\s\S])+\\\]/;
const INLINE = new RegExp(`${DISPLAY.source}|\\\\\\((?:(?!\\\\\\)|\\n[ \\t]*\\n)[\\s\\S])+\\\\\\)|${DOLLAR.source}`);
const BLOCK = new RegExp(`^ {0,3}(?:${DISPLAY.source})[ \\t]*(?:\\n|$)`);
const FIRST = new RegExp(`^(?:${INLINE.source})`);
const ALL = new RegExp(DOLLAR.source, "g");

const MARKS = /^(?:\$\$|\\\[|\\\()([\s\S]*)(?:\$\$|\\\]|\\\))$/;

/** The formula without its marks; undefined for one between single dollars. */
export const bare = (text) => MARKS.exec(text)?.[1].trim();

function token(type, found) {
  return found ? { type, raw: found[0] } : undefined;
}

/** What `marked` is told of them; `show(text)` gives the markup of one, which stands by itself where
 * `isBlock`. */
export const formulas = (show) => ({
  extensions: [{
    name: "formula",
    level: "block",
    start: (text) => text.match(/\n {0,3}(?:\$\$|\\\[)/)?.index,
    tokenizer: (text) => token("formula", BLOCK.exec(text)),
    renderer: ({ raw }) => show(raw.trim(), true),
  }, {
    name: "inlineFormula",
    level: "inline",
    start: (text) => text.match(/\$|\\[([]/)?.index,
    tokenizer: (text) => token("inlineFormula", FIRST.exec(text)),
    renderer: ({ raw }) => show(raw, false),
  }],
  // Their stars and underscores begin and end no emphasis either.
  hooks: { emStrongMask: (text) => text.replace(ALL, (it) => "a".repeat(it.length)) },
});

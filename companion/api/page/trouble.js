// What went wrong, what is worth knowing, and long texts, as boxes.

import { visible } from "./diff.js";
import { folded, make } from "./dom.js";
import { say } from "./texts.js";

// Characters of a result that are shown at most.
const MAX_TEXT = 100_000;

/** What went wrong: the server's sentence, what to do, and what else is known. */
export function trouble(error) {
  const { code = "", details = "", message } = error;
  const box = make("div", { class: "trouble", role: "alert" }, make("p", {}, message));
  if (say(code)) box.append(make("p", {}, say(code)));
  if (details && details !== message) box.append(folded("more", say("details"), block(details)));
  return box;
}

export const notice = (text) => make("p", { class: "notice" }, text);

export function block(text) {
  const rest = text.length - MAX_TEXT;
  const shown = rest > 0 ? `${text.slice(0, MAX_TEXT)}\n${say("textCut", rest)}` : text;
  return make("pre", { tabindex: "0" }, visible(shown));
}

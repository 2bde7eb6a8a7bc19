// What went wrong, what is worth knowing, and long texts, as boxes.

import { folded, make } from "./dom.js";
import { say } from "./texts.js";

// Characters of a result that are shown at most.
const MAX_TEXT = 100_000;

/** What went wrong: the server's sentence, what to do, and what else is known. */
export function trouble(error) {
  const { code = "", details = "", message } = error;
  const box = make("div", { class: "trouble", role: "alert" }, make("p", {}, message));
  if (say(code)) box.append(make("p", {}, say(code)));
  const more = beside(details, message);
  if (more) box.append(folded("more", say("details"), block(more)));
  return box;
}

/** What was told beside the sentence. The model's API tells it as JSON, which comes within JSON. */
function beside(details, message) {
  const error = unpacked(details);
  if (!error) return details === message ? "" : details;
  const { message: sentence, ...others } = error;
  const known = { ...(sentence !== message && { message: sentence }), ...others };
  const told = Object.entries(known).filter(([, value]) => value);
  // The number alone tells nobody anything.
  if (told.every(([name]) => name === "code")) return "";
  return told.map(([name, value]) => `${name}: ${lineOf(value)}`).join("\n");
}

const lineOf = (value) => typeof value === "object" ? JSON.stringify(value, null, 2) : value;

/** The innermost error of `{"error": {"message": "{\"error\": ...}"}}`; null where there is none. */
function unpacked(text) {
  let error = null;
  for (let rest = text; typeof rest === "string"; rest = error.message) {
    const found = errorIn(rest);
    if (!found) return error;
    error = found;
  }
  return error;
}

function errorIn(text) {
  try {
    const { error } = JSON.parse(text);
    return error && typeof error === "object" ? error : null;
  } catch {
    return null;
  }
}

export const notice = (text) => make("p", { class: "notice" }, text);

/** A link, a text or an image of the agent: what it is called, and its text folded. Nothing is loaded. */
export function resource({ mediaType, shown }) {
  const name = shown.name || shown.uri || mediaType;
  const more = [shown.uri, shown.description].filter((each) => each && each !== name);
  const line = [name, ...more].join("  ");
  return shown.text ? folded("more", line, block(shown.text)) : notice(line);
}

export function block(text) {
  const rest = text.length - MAX_TEXT;
  const shown = rest > 0 ? `${text.slice(0, MAX_TEXT)}\n${say("textCut", rest)}` : text;
  return make("pre", { tabindex: "0" }, shown);
}

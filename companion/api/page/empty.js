// What stands in a conversation in which nothing was said yet: where it is, and what can be asked.

import { button, find, make } from "./dom.js";
import { say } from "./texts.js";

const EXAMPLES = ["exampleExplain", "exampleFind", "exampleTest"];

/** `offer(text, others)` is called for the example that was chosen; `others` may be replaced by it. */
export function fillEmpty(offer) {
  const texts = EXAMPLES.map((name) => say(name));
  const items = texts.map((text) => make("li", {}, button(text, () => offer(text, texts))));
  find("examples").append(...items);
}

/** While the first conversation is opening: a message can be written already. */
export function showStarting() {
  find("empty").hidden = false;
  find("works-in").textContent = say("starts");
}

/** For the conversation, by `info`, and the name of its CLI; nothing where there is none. */
export function showEmpty(info, name) {
  find("empty").hidden = !info;
  if (!info) return;
  const [before, after] = say("worksIn", name).split("{1}");
  find("works-in").replaceChildren(before, make("code", {}, info.workspacePath), after);
}

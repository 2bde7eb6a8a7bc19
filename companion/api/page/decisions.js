// Where calls of tools are decided: between the conversation and the composer, so that it is always in
// sight. One question at a time, the oldest first.

import { button, find, make } from "./dom.js";
import { say } from "./texts.js";

/** Those of one conversation; `show` makes it the one that can be seen. */
export class Decisions {
  constructor() {
    this.box = make("div", { class: "waiting" });
  }

  /** `box` is the call in the conversation, `choices` are `{label, kind, pressed}`; what comes back can be passed to `settle`. */
  ask({ title, command, choices, box }) {
    const show = button(say("showCall"), () => box.scrollIntoView({ block: "nearest" }), "show");
    const what = make("p", { class: "asked" }, make("strong", {}, title), " ",
      make("code", {}, command), " ", show);
    const buttons = make("div", { class: "choices" });
    const question = make("div", { class: "question", role: "group",
      "aria-label": `${title} ${command}` }, what, buttons);
    question.setChoices = (all) => buttons.replaceChildren(...all.map(choice));
    question.setChoices(choices);
    this.box.append(question);
    refresh();
    return question;
  }

  settle(question) {
    const dock = find("decisions");
    const hadFocus = dock.contains(question) && dock.contains(document.activeElement);
    question.remove();
    refresh();
    // The button that had the focus is gone.
    if (hadFocus) find(dock.hidden ? "message" : "decisions").focus();
  }

  show() {
    find("decisions").replaceChildren(this.box);
    refresh();
  }
}

function choice({ label, kind, pressed }, at) {
  const key = String(at + 1);
  const element = button(label, pressed, kind);
  element.prepend(make("kbd", { "aria-hidden": "true" }, key));
  element.setAttribute("aria-keyshortcuts", key);
  return element;
}

function refresh() {
  const count = find("decisions").querySelectorAll(".question").length;
  find("decisions").hidden = !count;
  find("decisions").dataset.more = count > 1 ? say("more", count - 1) : "";
}

/** Escape goes to the decision and back to the message; there, the digits are its choices. A digit in
 * the message decides nothing, so that nobody allows by chance what they did not look at. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    const dock = find("decisions");
    if (dock.hidden || document.querySelector("dialog[open]") || event.isComposing) return;
    const { target, key } = event;
    const isTyping = target.matches("input, textarea, select");
    if (key === "Escape") {
      find(dock.contains(target) ? "message" : "decisions").focus();
    } else if (!isTyping && /^[1-9]$/.test(key) && !event.ctrlKey && !event.altKey && !event.metaKey) {
      dock.querySelectorAll(".question:first-child .choices button")[key - 1]?.click();
    } else {
      return;
    }
    event.preventDefault();
  });
}

// Where calls of tools are decided: between the conversation and the composer, so that it is always in
// sight. One question at a time, the oldest first.

import { TOUCH } from "./device.js";
import { button, find, make } from "./dom.js";
import { Reading } from "./reading.js";
import { say } from "./texts.js";

// Milliseconds for which something has to be in sight before it is allowed: the key or the finger may have
// been meant for what stood there before.
const MOMENT = 500;

/** Those of one conversation; `show` makes it the one that can be seen. */
export class Decisions {
  /** `agent` is the name of the CLI that asks. */
  constructor(agent = "") {
    this.agent = agent;
    this.box = make("div", { class: "waiting" });
  }

  /** What comes back can be passed to `settle`. */
  ask(asked) {
    const question = new Question(asked);
    this.box.append(question.box);
    refresh();
    return question;
  }

  settle(question) {
    const dock = find("decisions");
    const hadFocus = dock.contains(question.box) && dock.contains(document.activeElement);
    question.close();
    refresh();
    // The button that had the focus is gone.
    if (hadFocus) find(dock.hidden ? "message" : "decisions").focus();
  }

  show() {
    find("decisions").replaceChildren(this.box);
    refresh();
  }
}

/** `title` says what is asked, `about` is an element with a few words on it; `text` is a `pre` with all
 * that is decided on, to be shown here, and `changes` are others in the conversation: what allows it can be
 * chosen a moment after the end of each was in sight. `form` is one to be filled in. `choices` are `{label, kind, pressed, allows}`. */
class Question {
  constructor({ title, about, text, changes = [], form, choices }) {
    this.isRead = false;
    this.timer = 0;
    this.isBusy = false;
    this.buttons = make("div", { class: "choices" });
    this.box = make("div", { class: "question", role: "group", "aria-label": title },
      make("p", { class: "asked" }, make("strong", {}, title), " ", about));
    if (text) this.box.append(text);
    const texts = [...(text ? [text] : []), ...changes];
    this.unread = texts.length;
    this.readings = texts.map((it) => new Reading(it, () => this.read()));
    this.box.append(...this.readings.map(({ box }) => box));
    if (form) this.box.append(form);
    this.box.append(this.buttons);
    this.setChoices(choices);
  }

  setChoices(choices) {
    this.choices = choices;
    this.buttons.replaceChildren(...choices.map(choice));
    this.refresh();
  }

  /** One of its texts was. */
  read() {
    this.unread -= 1;
    if (this.unread) return;
    this.timer = setTimeout(() => {
      this.isRead = true;
      this.refresh();
    }, MOMENT);
  }

  /** Nothing can be chosen while a decision is on its way. */
  setBusy(isBusy) {
    this.isBusy = isBusy;
    this.refresh();
  }

  refresh() {
    this.choices.forEach(({ allows }, at) => {
      const isUnread = Boolean(allows) && !this.isRead;
      const element = this.buttons.children[at];
      element.disabled = isUnread || this.isBusy;
      element.title = isUnread ? say("readFirst") : "";
    });
  }

  close() {
    clearTimeout(this.timer);
    this.readings.forEach((it) => it.close());
    this.box.remove();
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
  const label = () =>
    find("decisions").setAttribute("aria-label", say(TOUCH.matches ? "decisions" : "decisionsByKeys"));
  label();
  TOUCH.addEventListener("change", label);
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

// The message that is typed. Enter sends it; one that cannot go yet stays in the field and goes as soon as
// nothing is in its way.

import { NARROW, TOUCH } from "./device.js";
import { find } from "./dom.js";
import { say } from "./texts.js";

export class Composer {
  /** `obstacle()` names the text that says what is in the way of a message, "" where nothing is;
   * `send(text)` sends one. `pressed` is called for Enter and the button. */
  constructor({ obstacle, send, pressed }) {
    Object.assign(this, { obstacle, send });
    this.field = find("message");
    this.isWaiting = false;
    find("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      pressed();
      // The button goes away under the focus; the keyboard of a screen would cover the answer.
      if (!TOUCH.matches) this.field.focus();
    });
    this.field.addEventListener("keydown", (event) => {
      if (!isSending(event)) return;
      event.preventDefault();
      pressed();
    });
    // What is changed once more is not what was to be sent.
    this.field.addEventListener("input", () => this.hold());
    find("hold").addEventListener("click", () => {
      this.hold();
      this.field.focus();
    });
    this.hint();
    for (const each of [NARROW, TOUCH]) each.addEventListener("change", () => this.hint());
  }

  /** Where there is room for it, and keys. */
  hint() {
    const isShort = NARROW.matches || TOUCH.matches;
    this.field.placeholder = say(isShort ? "messageShort" : "messageHint");
  }

  /** Sends the message, now or once it can; whether there is one. */
  press() {
    this.isWaiting = Boolean(this.field.value.trim());
    if (this.isWaiting) this.go();
    else this.tell("nothingTyped");
    return this.isWaiting;
  }

  /** Sends what waits, where nothing is in its way any more. */
  go() {
    if (!this.isWaiting) return;
    const name = this.obstacle();
    this.isWaiting = Boolean(name);
    this.tell(name);
    if (name) return;
    const text = this.field.value;
    this.field.value = "";
    this.send(text);
  }

  /** Nothing goes by itself any more; the text of that name says so. */
  hold(name = "") {
    this.isWaiting = false;
    this.tell(name);
  }

  /** The server did not take it. What was typed meanwhile comes after it. */
  giveBack(text) {
    this.field.value = [text, this.field.value].filter(Boolean).join("\n\n");
    this.hold("notSent");
  }

  /** Something to begin with; `others` are such, too, and not the user's own. */
  offer(text, others) {
    const { value } = this.field;
    const isOwn = value.trim() && !others.includes(value);
    this.field.value = isOwn ? `${value}\n${text}` : text;
    this.hold();
    this.field.focus();
  }

  tell(name) {
    find("unsent").textContent = say(name);
    find("hold").hidden = !this.isWaiting;
  }
}

function isSending({ key, shiftKey, ctrlKey, metaKey, isComposing, keyCode }) {
  // While a word is being composed, as in Chinese, Enter belongs to the input method; one browser
  // says so by the number only.
  if (key !== "Enter" || isComposing || keyCode === 229) return false;
  // The keyboard of a screen has no other key to begin a line.
  return ctrlKey || metaKey || !(shiftKey || TOUCH.matches);
}

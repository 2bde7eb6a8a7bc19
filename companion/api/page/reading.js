// A text that is decided on: it scrolls, says how much of it is out of sight, and tells once its end
// was in sight.

import { button, make } from "./dom.js";
import { say } from "./texts.js";

// How much of the end has to be there; parts of a pixel may be missing.
const WHOLE = .9;

/** `text` is a `pre`; `box` is to be put below it; `done` is called once. */
export class Reading {
  constructor(text, done) {
    this.text = text;
    this.end = make("span", { class: "end" });
    this.count = this.count.bind(this);
    this.turn = button("", () => this.turnPage());
    const hint = make("span", { role: "status" }, say("readFirst"));
    this.box = make("p", { class: "rest", hidden: "" }, this.turn, " ", hint);
    text.append(this.end);
    // What the window, the dock or the text itself cuts off is not in sight.
    this.watch = new IntersectionObserver((entries) => {
      if (!entries.some(({ intersectionRatio }) => intersectionRatio >= WHOLE)) return;
      this.watch.disconnect();
      hint.remove();
      done();
    }, { threshold: WHOLE });
    this.watch.observe(this.end);
    this.sizes = new ResizeObserver(this.count);
    this.sizes.observe(text);
    text.addEventListener("scroll", this.count);
  }

  get height() {
    return parseFloat(getComputedStyle(this.text).lineHeight);
  }

  count() {
    const { scrollHeight, clientHeight, scrollTop } = this.text;
    const rest = Math.round((scrollHeight - clientHeight - scrollTop) / this.height);
    const hadFocus = document.activeElement === this.turn;
    this.box.hidden = rest < 1;
    this.turn.textContent = rest === 1 ? say("oneMoreLine") : say("moreLines", rest);
    if (this.box.hidden && hadFocus) this.text.focus();
  }

  /** The line that was the last one in sight is the first one then. */
  turnPage() {
    this.text.scrollBy({ top: this.text.clientHeight - 2 * this.height });
  }

  close() {
    this.watch.disconnect();
    this.sizes.disconnect();
    this.text.removeEventListener("scroll", this.count);
    this.end.remove();
  }
}

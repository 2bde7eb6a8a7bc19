// A text that is decided on: it tells once its end was in sight. In a question it scrolls, and says how
// much of it is out of sight.

import { button, make } from "./dom.js";
import { say } from "./texts.js";

// How much of the end has to be there; parts of a pixel may be missing.
const WHOLE = .9;

/** Looks for the end of `text`, a `pre`: `told` hears whether it is in sight and nothing of the text is
 * folded, until it was. */
class Ending {
  constructor(text, told) {
    this.text = text;
    this.told = told;
    this.mark = make("span", { class: "end" });
    // What the window, the dock or the text itself cuts off is not in sight.
    this.watch = new IntersectionObserver((entries) => this.look(entries.at(-1)), { threshold: WHOLE });
    this.begin = this.begin.bind(this);
    text.addEventListener("click", this.begin);
    this.begin();
  }

  /** Also when something was unfolded, which then stands before the end. */
  begin() {
    this.watch.disconnect();
    this.watch.takeRecords();
    this.text.append(this.mark);
    this.watch.observe(this.mark);
  }

  look({ intersectionRatio }) {
    const isSeen = intersectionRatio >= WHOLE && !this.text.querySelector(".more");
    if (isSeen) this.close();
    this.told(isSeen);
  }

  close() {
    this.watch.disconnect();
    this.text.removeEventListener("click", this.begin);
    this.mark.remove();
  }
}

/** `text` is a `pre`, here or in the conversation; `box` is to be put below what is asked; `done` is
 * called once. */
export class Reading {
  constructor(text, done) {
    this.text = text;
    this.isOut = false;
    this.count = this.count.bind(this);
    this.turn = button("", () => this.turnPage());
    this.hint = make("span", { role: "status" }, say("readFirst"));
    this.box = make("p", { class: "rest", hidden: "" }, this.turn, " ", this.hint);
    this.ending = new Ending(text, (isSeen) => {
      this.isOut = !isSeen;
      if (isSeen) {
        this.hint.remove();
        done();
      }
      this.count();
    });
    this.sizes = new ResizeObserver(this.count);
    this.sizes.observe(text);
    text.addEventListener("scroll", this.count);
  }

  get height() {
    return parseFloat(getComputedStyle(this.text).lineHeight);
  }

  count() {
    // Somebody changes the text, in its place.
    if (!this.text.isConnected) {
      this.box.hidden = true;
      return;
    }
    const { scrollHeight, clientHeight, scrollTop } = this.text;
    const rest = Math.round((scrollHeight - clientHeight - scrollTop) / this.height);
    const hadFocus = document.activeElement === this.turn;
    this.turn.hidden = rest < 1;
    this.box.hidden = this.turn.hidden && !this.isOut;
    this.turn.textContent = rest === 1 ? say("oneMoreLine") : say("moreLines", rest);
    if (this.turn.hidden && hadFocus) this.text.focus();
  }

  /** The line that was the last one in sight is the first one then. */
  turnPage() {
    this.text.scrollBy({ top: this.text.clientHeight - 2 * this.height });
  }

  close() {
    this.ending.close();
    this.sizes.disconnect();
    this.text.removeEventListener("scroll", this.count);
  }
}

// The end of the conversation stays in sight for a reader who is there, whatever grows or shrinks.

import { find } from "./dom.js";

// Pixels from the end within which the reader counts as being there.
const NEAR = 40;

export class Scroll {
  constructor() {
    this.box = find("scroller");
    this.isFollowing = true;
    this.top = 0;
    this.box.addEventListener("scroll", () => this.moved());
    // Who unfolds something wants to read it where it is.
    this.box.addEventListener("click", ({ target }) => {
      if (target.closest("summary")) this.follow(false);
    });
    find("to-end").addEventListener("click", () => this.toEnd());
    const sizes = new ResizeObserver(() => this.resized());
    for (const each of [this.box, find("log")]) sizes.observe(each);
  }

  get rest() {
    return this.box.scrollHeight - this.box.clientHeight - this.box.scrollTop;
  }

  resized() {
    if (this.isFollowing) this.toEnd();
    else if (this.rest < 1) this.follow(true);
  }

  // Only moving up stops it: what has grown since the last event says nothing about the reader. A box
  // that grows moves up, too, but is at its end.
  moved() {
    const { scrollTop } = this.box;
    if (this.rest < 1) this.follow(true);
    else if (scrollTop < this.top - 1) this.follow(false);
    else if (scrollTop > this.top && this.rest < NEAR) this.follow(true);
    this.top = scrollTop;
  }

  follow(isOn) {
    this.isFollowing = isOn;
    find("to-end").hidden = isOn;
  }

  toEnd() {
    this.follow(true);
    this.box.scrollTop = this.box.scrollHeight;
    this.top = this.box.scrollTop;
  }

  /** Does something that adds to the beginning, and leaves what is read where it is. */
  hold(change) {
    const rest = this.box.scrollHeight - this.box.scrollTop;
    this.follow(false);
    change();
    this.box.scrollTop = this.box.scrollHeight - rest;
    this.top = this.box.scrollTop;
  }
}

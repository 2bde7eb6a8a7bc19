// What happens in all conversations, in other tabs and on other devices, too. Only while the page can be
// seen: browsers open few connections to one server, and each hidden tab would hold one.

import * as wire from "./wire.js";

// Milliseconds before a lost stream is taken up again, longer and longer.
const PAUSES = [500, 1000, 2000, 5000];
const pause = (time) => new Promise((done) => setTimeout(done, time));

export class Live {
  /** `happened` is told each event, `missed` that there may have been others. */
  constructor({ happened, missed }) {
    Object.assign(this, { happened, missed });
    // The id of the last event, and whether there was a stream before.
    this.seen = "";
    this.isKnown = false;
    this.running = null;
    document.addEventListener("visibilitychange", () => this.isStarted && this.change());
  }

  /** Resolves when nothing more is missed, or the server cannot be reached. */
  start() {
    this.isStarted = true;
    return this.change();
  }

  async change() {
    if (document.hidden) {
      this.running?.abort();
      this.running = null;
    } else if (!this.running) {
      this.running = new AbortController();
      await new Promise((ready) => this.run(this.running.signal, ready));
    }
  }

  async run(signal, ready) {
    for (let tries = 0; !signal.aborted; tries += 1) {
      try {
        const events = await wire.everything(this.seen, signal);
        tries = 0;
        if (this.isKnown && !this.seen) this.missed();
        this.isKnown = true;
        ready();
        for await (const { id, event } of events) {
          // What belongs to no turn has none.
          if (id) this.seen = id;
          this.happened(event);
        }
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof wire.Lost || error instanceof wire.Refused)) throw error;
        // The server has forgotten that event, or it is another server.
        if (error.code === "TURN_NOT_FOUND") this.seen = "";
      }
      ready();
      await pause(PAUSES[Math.min(tries, PAUSES.length - 1)]);
    }
    ready();
  }
}

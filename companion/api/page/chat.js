// One conversation of the server: its messages, what is decided in it, and the turn that runs. It goes
// on while another one is looked at.

import { Decisions } from "./decisions.js";
import { make } from "./dom.js";
import { say } from "./texts.js";
import { notice, trouble } from "./trouble.js";
import { Turn } from "./turn.js";
import * as wire from "./wire.js";

export class Chat {
  /** `info` is the server's; `changed` is told when something else than the messages is new, and
   * `begun` when the server has begun a turn. */
  constructor(info, changed, begun) {
    this.info = info;
    this.changed = changed;
    this.begun = begun;
    this.log = make("div", { class: "messages" });
    this.decisions = new Decisions();
    this.state = "";
    this.isUrgent = false;
    this.isBusy = false;
    // The id of the first turn that is shown, where there are earlier ones.
    this.first = "";
    // What has to be over before the server takes a message.
    this.asking = Promise.resolve();
  }

  get path() {
    return `/sessions/${encodeURIComponent(this.info.sessionId)}`;
  }

  /** In a few words, for the eye and for screen readers; `isUrgent` shows in the tab, too. */
  note(text, isUrgent = false) {
    this.state = text;
    this.isUrgent = isUrgent;
    this.changed(this);
  }

  append(element) {
    this.log.append(element);
  }

  /** The newest messages; where a turn runs, to its end. */
  async load() {
    const running = await this.page(this.log);
    if (!running) return;
    this.log.lastChild.remove();
    try {
      await this.play(running.text, wire.replay(running.turnId, () => this.noteLost()));
    } catch (error) {
      if (error.code !== "TURN_NOT_FOUND") throw error;
    }
  }

  /** Messages before those that are shown. */
  async earlier() {
    const found = document.createDocumentFragment();
    await this.page(found);
    return () => this.log.prepend(found);
  }

  async page(place) {
    const before = this.first ? `?before=${encodeURIComponent(this.first)}` : "";
    const { messages, hasMore } = await wire.get(`${this.path}/messages${before}`);
    for (const { text, events } of messages) {
      const turn = new Turn(place, text, this.decisions, () => {});
      for (const event of events) turn.show(event);
      if (!turn.isOver) turn.end();
    }
    this.first = hasMore ? messages[0].turnId : "";
    const last = messages.at(-1);
    const isOver = ["complete", "error"].includes(last?.events.at(-1)?.type);
    return this.info.isBusy && last && !isOver ? last : null;
  }

  setBusy(isOn) {
    this.isBusy = isOn;
    this.changed(this);
  }

  noteLost() {
    this.note(say("comesBack"));
  }

  /** Shows a stream of events as a turn, to its end. */
  async play(message, stream) {
    const turn = new Turn(this.log, message, this.decisions, (...words) => this.note(...words));
    this.setBusy(true);
    this.note(say("works"));
    try {
      let isFirst = true;
      for await (const event of stream) {
        if (isFirst) this.begun();
        isFirst = false;
        if (this.state === say("comesBack")) this.note(say("works"));
        turn.show(event);
      }
    } finally {
      if (!turn.isOver) turn.end();
      this.setBusy(false);
    }
  }

  async send(message) {
    this.setBusy(true);
    this.note(say("starts"));
    try {
      await this.asking.catch(() => {});
      const { sessionId } = this.info;
      this.info.turns += 1;
      await this.play(message, wire.chat({ message, sessionId }, () => this.noteLost()));
    } finally {
      this.setBusy(false);
    }
  }

  /** Whether a turn was there to be stopped. */
  async stop() {
    const { sessionId } = this.info;
    return (await wire.post("/cancel", { sessionId })).cancelled > 0;
  }

  async set(changes) {
    this.asking = wire.patch(this.path, changes);
    this.info = await this.asking;
    this.changed(this);
  }

  models() {
    this.asking = wire.get(`/models?sessionId=${encodeURIComponent(this.info.sessionId)}`);
    return this.asking;
  }

  /** What the server refused, where the messages are. */
  fail(error) {
    this.note("");
    this.append(error.code === "SESSION_NOT_FOUND" ? notice(say("forgotten")) : trouble(error));
  }
}

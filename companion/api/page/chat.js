// One conversation of the server: its messages, what is decided in it, and the turn that runs. It goes
// on while another one is looked at.

import { Decisions } from "./decisions.js";
import { make } from "./dom.js";
import { say } from "./texts.js";
import { notice, trouble } from "./trouble.js";
import { Turn } from "./turn.js";
import * as wire from "./wire.js";

export class Chat {
  /** `info` is the server's; `changed` is told when something else than the messages is new. */
  constructor(info, changed) {
    this.info = info;
    this.changed = changed;
    this.log = make("div", { class: "messages" });
    this.decisions = new Decisions();
    this.state = "";
    this.isUrgent = false;
    this.isBusy = false;
    // The id of the first turn that is shown, where there are earlier ones.
    this.first = "";
    // What has to be over before the server takes a message.
    this.asking = Promise.resolve();
    // The ids of the turns that are shown, and the turn that somebody else has begun.
    this.shown = new Set();
    this.foreign = null;
    // How many pieces of work show events by themselves, and what is heard meanwhile of others.
    this.held = 0;
    this.heard = [];
    // What goes along with the next message: `[{id, name, size, isThere}]`.
    this.attached = [];
    this.uploading = new Set();
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
  load() {
    return this.hold(async () => {
      let gone = "";
      for (;;) {
        const running = await this.page(this.log);
        if (!running || running.turnId === gone) return;
        this.log.lastChild.remove();
        try {
          await this.play(running, wire.replay(running.turnId, () => this.noteLost()));
          return;
        } catch (error) {
          if (error.code !== "TURN_NOT_FOUND") throw error;
        }
        // It ended meanwhile, and the messages have the rest of it. Where even they lack its end, it
        // stays as it is.
        gone = running.turnId;
        this.clear();
      }
    });
  }

  clear() {
    this.log.replaceChildren();
    this.shown.clear();
    this.first = "";
    this.note("");
  }

  /** All anew, where something was missed. */
  async reload() {
    if (this.held) return;
    this.endForeign();
    this.clear();
    await this.load();
  }

  /** An event of the conversation, whoever caused it. What is shown already is passed over. */
  hear(event) {
    const { type, data } = event;
    if (this.held) {
      if (!this.shown.has(data.turnId)) this.heard.push(event);
    } else if (type === "message") {
      if (this.shown.has(data.turnId)) return;
      this.shown.add(data.turnId);
      this.endForeign();
      this.foreign = { id: data.turnId, turn: this.begin(data) };
    } else if (this.foreign?.id === data.turnId) {
      this.foreign.turn.show(event);
      if (this.foreign.turn.isOver) this.endForeign();
    }
  }

  async hold(work) {
    this.held += 1;
    try {
      await work();
    } finally {
      this.held -= 1;
      const heard = this.held ? [] : this.heard.splice(0);
      for (const event of heard) {
        if (!this.shown.has(event.data.turnId) || event.data.turnId === this.foreign?.id) this.hear(event);
      }
    }
  }

  begin(said) {
    const turn = new Turn(this.log, said, this.decisions, (...words) => this.note(...words));
    this.setBusy(true);
    this.note(say("works"));
    return turn;
  }

  endForeign() {
    const turn = this.foreign?.turn;
    this.foreign = null;
    if (turn && !turn.isOver) turn.end();
    if (turn) this.setBusy(false);
  }

  /** Messages before those that are shown. */
  async earlier() {
    const found = document.createDocumentFragment();
    await this.page(found);
    return () => this.log.prepend(found);
  }

  /** Appends to `place` the messages before the first one that is shown, or the newest ones where none
   * is. Returns the last one where its end is missing. */
  async page(place) {
    const before = this.first ? `?before=${encodeURIComponent(this.first)}` : "";
    const { messages, hasMore } = await wire.get(`${this.path}/messages${before}`);
    for (const { turnId, events, ...said } of messages) {
      this.shown.add(turnId);
      const turn = new Turn(place, said, this.decisions, () => {});
      for (const event of events) turn.show(event);
      if (!turn.isOver) turn.end();
    }
    this.first = hasMore ? messages[0].turnId : "";
    const last = messages.at(-1);
    const isOver = ["complete", "error"].includes(last?.events.at(-1)?.type);
    return last && !isOver ? last : null;
  }

  setBusy(isOn) {
    this.isBusy = isOn;
    this.changed(this);
  }

  noteLost() {
    this.note(say("comesBack"));
  }

  /** Shows a stream of events as a turn, to its end. */
  async play(said, stream) {
    const turn = this.begin(said);
    try {
      for await (const event of stream) {
        this.shown.add(event.data.turnId);
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
      await this.hold(async () => {
        await Promise.allSettled([this.asking, ...this.uploading]);
        const { sessionId } = this.info;
        const along = this.attached;
        this.attached = [];
        this.info.turns += 1;
        const attachments = along.map(({ id }) => id);
        const body = { message, sessionId, ...(along.length && { attachments }) };
        const said = { text: message, attachments: along };
        try {
          await this.play(said, wire.chat(body, () => this.noteLost()));
        } catch (error) {
          // They are still there to go along with another try.
          if (error instanceof wire.Refused) this.attached.unshift(...along);
          throw error;
        }
      });
    } finally {
      if (!this.foreign) this.setBusy(false);
    }
  }

  async attach(file) {
    const item = { name: file.name, size: file.size, isThere: false };
    this.attached.push(item);
    this.changed(this);
    const upload = wire.upload(`${this.path}/attachments`, file);
    this.uploading.add(upload);
    try {
      const { attachmentId, name, size } = await upload;
      Object.assign(item, { id: attachmentId, name, size, isThere: true });
    } catch (error) {
      this.attached.splice(this.attached.indexOf(item), 1);
      throw error;
    } finally {
      this.uploading.delete(upload);
      this.changed(this);
    }
  }

  async detach(item) {
    this.attached.splice(this.attached.indexOf(item), 1);
    this.changed(this);
    await wire.remove(`${this.path}/attachments/${encodeURIComponent(item.id)}`);
  }

  commands() {
    return wire.get(`${this.path}/commands`);
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

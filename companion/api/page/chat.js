// One conversation of the server: its messages, what is decided in it, and the turn that runs. It goes
// on while another one is looked at.

import { Decisions } from "./decisions.js";
import { make } from "./dom.js";
import { main } from "./options.js";
import { say } from "./texts.js";
import { notice, trouble } from "./trouble.js";
import { Turn } from "./turn.js";
import * as wire from "./wire.js";

/** The server did not take a message; `cause` says why. */
export class NotTaken extends Error {}

export class Chat {
  /** `info` is the server's, `agent` the name of its CLI; `changed` is told when something else than the messages is new, `failed`
   * that a turn broke off. */
  constructor(info, agent, { changed, failed }) {
    Object.assign(this, { info, changed, failed });
    this.log = make("div", { class: "messages" });
    this.decisions = new Decisions(agent);
    // The agent's options, as far as they are known.
    this.options = [];
    // The messages that wait.
    this.queue = { messages: [], isHeld: false, problem: "", passing: "" };
    // How often it was told: an answer that comes after that is older.
    this.tellings = 0;
    this.state = "";
    this.isUrgent = false;
    // How many turns of this tab run, and how often the messages are being asked for.
    this.running = 0;
    this.loading = 0;
    // The id of the first turn that is shown, where there are earlier ones.
    this.first = "";
    // What has to be over before the server takes a message, or removes it.
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

  get isBusy() {
    return this.running > 0 || this.foreign !== null;
  }

  /** The name of the text that says what is in the way of a message; "" where nothing is. */
  get obstacle() {
    if (this.uploading.size) return "waitsForFiles";
    // It would come to stand above what was said before; while a turn runs, it waits in the queue.
    return this.loading && !this.isBusy ? "waitsForConversation" : "";
  }

  get isEmpty() {
    return !this.log.hasChildNodes() && !this.isBusy && !this.loading;
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
    return this.count("loading", () => this.hold(async () => {
      await this.loadQueue();
      let gone = "";
      for (;;) {
        const { running } = await this.page(this.log);
        if (!running || running.turnId === gone) return;
        this.log.lastChild.remove();
        const stream = wire.replay(this.path, running.turnId, () => this.noteLost());
        try {
          await this.play(this.begin(running), stream);
          return;
        } catch (error) {
          if (error.code !== "TURN_NOT_FOUND") throw error;
        }
        // It ended meanwhile, and the messages have the rest of it. Where even they lack its end, it
        // stays as it is.
        gone = running.turnId;
        this.clear();
      }
    }));
  }

  /** Does something that counts as one of the `kind`, "running" or "loading", to its very end. */
  async count(kind, work) {
    this[kind] += 1;
    this.changed(this);
    try {
      await work();
    } finally {
      this[kind] -= 1;
      this.changed(this);
    }
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
    await this.count("loading", async () => {
      this.endForeign();
      this.clear();
      await this.load();
    });
  }

  /** An event of the conversation, whoever caused it. What is shown already is passed over. */
  hear(event) {
    const { type, data } = event;
    if (!data.turnId) {
      if (type === "config_options") this.showOptions(data);
      if (type === "queue") {
        this.tellings += 1;
        this.showQueue(data);
      }
    } else if (this.held) {
      if (!this.shown.has(data.turnId)) this.heard.push(event);
    } else if (type === "message") {
      if (this.shown.has(data.turnId)) return;
      this.shown.add(data.turnId);
      if (this.foreign) this.end(this.foreign.turn);
      // Busy from now on, whatever is told of it.
      this.foreign = { id: data.turnId };
      this.foreign.turn = this.begin(data);
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
    this.note(say("works"));
    return turn;
  }

  endForeign() {
    if (!this.foreign) return;
    this.end(this.foreign.turn);
    this.foreign = null;
    this.changed(this);
  }

  end(turn) {
    if (!turn.isOver) turn.end();
    if (turn.hasFailed) this.failed(this);
  }

  /** Messages before those that are shown. */
  async earlier() {
    const found = document.createDocumentFragment();
    const { drawn } = await this.page(found);
    // What grows above the reader would move what they read.
    await drawn;
    return () => this.log.prepend(found);
  }

  /** Appends to `place` the messages before the first one that is shown, or the newest ones where none
   * is. Returns the last one as `running` where its end is missing, and when all others are `drawn`. */
  async page(place) {
    const before = this.first ? `?before=${encodeURIComponent(this.first)}` : "";
    const { messages, hasMore } = await wire.get(`${this.path}/messages${before}`);
    const drawing = [];
    for (const { turnId, events, ...said } of messages) {
      this.shown.add(turnId);
      const turn = new Turn(place, said, this.decisions, () => {});
      for (const event of events) turn.show(event);
      if (!turn.isOver) turn.end();
      drawing.push(turn.drawn());
    }
    this.first = hasMore ? messages[0].turnId : "";
    const last = messages.at(-1);
    const isOver = ["complete", "error"].includes(last?.events.at(-1)?.type);
    return { running: last && !isOver ? last : null, drawn: Promise.all(drawing) };
  }

  noteLost() {
    this.note(say("comesBack"));
  }

  /** Shows a stream of events in the turn, to its end. */
  play(turn, stream) {
    return this.count("running", async () => {
      try {
        for await (const event of stream) {
          this.shown.add(event.data.turnId);
          if (this.state === say("comesBack")) this.note(say("works"));
          turn.show(event);
        }
      } finally {
        this.end(turn);
      }
    });
  }

  /** To the end of the answer. Throws NotTaken where nothing of it is shown any more, and what `wire`
   * does. */
  send(message) {
    return this.count("running", () => this.hold(async () => {
      const along = this.attached.splice(0);
      const turn = this.begin({ text: message, attachments: along });
      this.note(say("starts"));
      this.info.turns += 1;
      await Promise.allSettled([this.asking]);
      this.note(say("works"));
      const { sessionId } = this.info;
      const attachments = along.map(({ id }) => id);
      const body = { message, sessionId, ...(along.length && { attachments }) };
      try {
        await this.play(turn, wire.chat(body, () => this.noteLost()));
      } catch (cause) {
        if (turn.hasBegun) throw cause;
        // It can be sent once more without being typed again.
        turn.remove();
        this.note("");
        this.attached.unshift(...along);
        throw new NotTaken("", { cause });
      }
    }));
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
      this.failed(this);
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

  /** What the agent lets choose now. */
  showOptions({ options }) {
    this.options = options;
    for (const category of ["model", "mode"]) {
      const option = main(options, category);
      if (option) this.info[category] = option.value;
    }
    const mode = main(options, "mode");
    if (mode) this.info.modes = mode.values.map(({ value }) => value);
    this.changed(this);
  }

  showQueue(queue) {
    this.queue = queue;
    this.changed(this);
  }

  /** That of the answer, unless a newer one was told meanwhile. */
  async takeQueue(asked) {
    const before = this.tellings;
    const answer = await asked;
    if (before === this.tellings) this.showQueue(answer);
  }

  loadQueue() {
    return this.takeQueue(wire.get(`${this.path}/queue`));
  }

  /** Puts a message at the end of the queue. Throws NotTaken. */
  async enqueue(message) {
    const along = this.attached.splice(0);
    const attachments = along.map(({ id }) => id);
    const body = { message, ...(along.length && { attachments }) };
    try {
      await this.takeQueue(wire.post(`${this.path}/queue`, body));
    } catch (cause) {
      this.attached.unshift(...along);
      throw new NotTaken("", { cause });
    }
  }

  /** Does something with a message that waits. */
  withQueued(method, id, body, what = "") {
    const path = `${this.path}/queue/${encodeURIComponent(id)}${what}`;
    return this.takeQueue(wire.ask(method, path, body));
  }

  async loadOptions() {
    this.asking = wire.get(`${this.path}/state`);
    this.showOptions(await this.asking);
  }

  async choose(id, value) {
    this.asking = wire.post(`${this.path}/options`, { id, value });
    this.showOptions(await this.asking);
  }

  models() {
    this.asking = wire.get(`/models?sessionId=${encodeURIComponent(this.info.sessionId)}`);
    return this.asking;
  }

  /** What the server refused, where the messages are. */
  fail(error) {
    const box = error.code === "SESSION_NOT_FOUND" ? notice(say("forgotten")) : trouble(error);
    // Once more the same is said once.
    if (this.log.lastChild?.isEqualNode(box)) this.log.lastChild.remove();
    this.append(box);
    this.note("");
  }
}

// One turn as the reader sees it: what was said, and what came of it, event by event.

import { enclosed } from "./attached.js";
import { Call } from "./call.js";
import { changes } from "./changes.js";
import { TOUCH } from "./device.js";
import { folded, make } from "./dom.js";
import { Elicitation } from "./elicitation.js";
import { Plan, usageLine } from "./plan.js";
import { Prose } from "./prose.js";
import { say } from "./texts.js";
import { notice, resource, trouble } from "./trouble.js";

/** Consecutive thoughts of the model, folded; the newest names them. */
class Thoughts {
  constructor(parent) {
    this.title = document.createTextNode(say("thoughts"));
    this.box = folded("thoughts", this.title);
    parent.append(this.box);
  }

  add({ subject, description }) {
    if (subject) this.title.data = `${say("thoughts")}: ${subject}`;
    // Thoughts without a subject are pieces of one text.
    if (subject || !this.piece) this.box.append((this.piece = make("p")));
    if (subject) this.piece.append(make("strong", {}, subject), " ");
    this.piece.append(description);
    if (subject) this.piece = null;
  }
}

/** A message (`{text, files, attachments}`) and its answer, put at the end of `log`. Calls that wait for a decision go to
 * `decisions`; `note` is told in a few words what is going on. */
export class Turn {
  constructor(log, said, decisions, note) {
    this.decisions = decisions;
    this.note = note;
    this.calls = new Map();
    this.questions = new Map();
    // The plan, and the newest use of the context, where the agent tells them.
    this.plan = null;
    this.context = null;
    this.run = null;
    this.drawing = [];
    // Whether an event came, and whether the last one was an error.
    this.hasBegun = false;
    this.hasFailed = false;
    const title = make("h2", { class: "unseen" }, say("you"));
    const mine = make("p", { class: "mine" }, said.text);
    const along = enclosed(said);
    // Read aloud once it is complete, and not syllable by syllable.
    this.answer = make("div", { class: "answer", "aria-busy": "true" });
    this.box = make("article", {}, title, mine, ...(along ? [along] : []), this.answer);
    log.append(this.box);
  }

  show({ type, data }) {
    this.ids = data;
    this.hasBegun = true;
    const known = {
      content: () => this.prose().add(data.text),
      thought: () => this.think(data),
      tool_call: () => this.calls.set(data.callId, new Call(this.fresh(), this.decisions, data)),
      tool_execution: () => this.call(data).stand(data.status, data.message, data.rejected),
      tool_confirmation: () => this.ask(data),
      tool_result: () => this.call(data).finish(data),
      resource: () => this.fresh().append(resource(data)),
      message_added: () => this.fresh().append(make("p", { class: "mine" }, data.text)),
      plan: () => this.planned(data),
      context_usage: () => { this.context = data; },
      elicitation: () => this.elicit(data),
      elicitation_answered: () => this.questions.get(data.elicitationId)?.settle(data.action),
      complete: () => this.complete(data),
      error: () => this.fail(data),
    };
    // Other kinds may come with later servers.
    known[type]?.();
    if (type === "content" && !data.isPartial) this.fresh();
    if (type === "tool_execution" && data.status !== "pending") this.note(data.message);
  }

  /** The answer, with whatever run was open in it closed. */
  fresh() {
    this.run?.close?.();
    this.run = null;
    return this.answer;
  }

  prose() {
    if (!(this.run instanceof Prose)) {
      this.run = new Prose(this.fresh());
      this.drawing.push(this.run.drawn);
    }
    return this.run;
  }

  /** Resolves when all texts of a turn that is over are drawn. */
  drawn() {
    return Promise.all(this.drawing);
  }

  think(data) {
    // The server's own word about the conversation, which nobody should have to unfold.
    if (data.subject === "Warning") {
      this.fresh().append(notice(data.description));
      return;
    }
    if (!(this.run instanceof Thoughts)) this.run = new Thoughts(this.fresh());
    this.run.add(data);
  }

  call(data) {
    const known = this.calls.get(data.callId);
    if (known) return known;
    const made = new Call(this.fresh(), this.decisions, { description: "", ...data });
    this.calls.set(data.callId, made);
    return made;
  }

  ask(data) {
    this.call(data).ask(data);
    this.note(say(TOUCH.matches ? "asks" : "asksByKeys"), true);
  }

  /** In its place, also in the middle of a text. */
  planned(data) {
    this.plan ??= new Plan(this.answer);
    this.plan.show(data);
  }

  elicit(data) {
    const question = new Elicitation(this.fresh(), this.decisions, data);
    this.questions.set(data.elicitationId, question);
    question.ask();
    this.note(say(TOUCH.matches ? "asks" : "asksByKeys"), true);
  }

  complete({ success, message, usage }) {
    this.end();
    if (!success) this.answer.append(notice(message));
    this.answer.append(make("p", { class: "usage" }, usageLine(usage, this.context)));
    // Why it ended stands in the answer.
    this.note(success ? say("answered") : "");
  }

  fail(error) {
    this.hasFailed = true;
    this.end();
    this.answer.append(trouble(error));
    this.note("");
  }

  remove() {
    this.box.remove();
  }

  get isOver() {
    return this.answer.getAttribute("aria-busy") === "false";
  }

  end() {
    this.fresh();
    for (const each of [...this.calls.values(), ...this.questions.values()]) each.settle();
    const edited = [...this.calls.values()].some(({ hasEdited }) => hasEdited);
    if (edited) this.answer.append(changes(this.ids));
    this.answer.setAttribute("aria-busy", "false");
  }
}

// One turn as the reader sees it: what was said, and what came of it, event by event.

import { difference, visible } from "./diff.js";
import { button, folded, make } from "./dom.js";
import { say } from "./texts.js";
import { post } from "./wire.js";

// Characters of a result that are shown at most.
const MAX_TEXT = 100_000;
const OPENS = /^\s*(```|~~~)/;
const CLOSES = /^\s*(```|~~~)\s*$/;

/** What went wrong, as a box: the server's sentence, what to do, and what else is known. */
export function trouble(error) {
  const { code = "", details = "", message } = error;
  const box = make("div", { class: "trouble", role: "alert" }, make("p", {}, message));
  if (say(code)) box.append(make("p", {}, say(code)));
  if (details && details !== message) box.append(folded("more", say("details"), block(details)));
  return box;
}

export const notice = (text) => make("p", { class: "notice" }, text);

function block(text) {
  const rest = text.length - MAX_TEXT;
  const shown = rest > 0 ? `${text.slice(0, MAX_TEXT)}\n${say("textCut", rest)}` : text;
  return make("pre", { tabindex: "0" }, visible(shown));
}

/** A run of the answer's text, with its fenced code in blocks; nothing else is markup in it. */
class Prose {
  constructor(parent) {
    this.parent = parent;
    this.isCode = false;
    this.begin();
  }

  begin() {
    this.line = document.createTextNode("");
    const kind = this.isCode ? ["pre", { tabindex: "0" }] : ["p", { class: "prose" }];
    this.block = make(...kind, this.line);
    this.parent.append(this.block);
  }

  add(text) {
    // Only the last line is ever touched, so that long answers do not become slow.
    const [first, ...others] = text.split("\n");
    this.line.appendData(first);
    for (const next of others) {
      this.end();
      this.line.appendData(next);
    }
  }

  end() {
    const isFence = (this.isCode ? CLOSES : OPENS).test(this.line.data);
    if (isFence) {
      this.line.remove();
      if (!this.block.textContent.trim()) this.block.remove();
      this.isCode = !this.isCode;
      this.begin();
    } else {
      this.line.appendData("\n");
      this.line = document.createTextNode("");
      this.block.append(this.line);
    }
  }

  /** Nothing more comes: a last line that is a fence is not text either. */
  close() {
    if (this.isCode && CLOSES.test(this.line.data)) this.line.remove();
    if (!this.block.textContent.trim()) this.block.remove();
  }
}

/** Consecutive thoughts of the model, folded; the newest names them. */
class Thoughts {
  constructor(parent) {
    this.title = document.createTextNode(say("thoughts"));
    this.box = folded("thoughts", this.title);
    parent.append(this.box);
  }

  add({ subject, description }) {
    if (subject) this.title.data = `${say("thoughts")}: ${subject}`;
    const text = make("p", {}, description);
    if (subject) text.prepend(make("strong", {}, subject), " ");
    this.box.append(text);
  }
}

// What allows least comes first, and rejecting last, where it is always found.
const REACH = { proceed_once: 0, cancel: 2 };
const byReach = (one, other) => (REACH[one.outcome] ?? 1) - (REACH[other.outcome] ?? 1);

/** One call of a tool. */
class Call {
  constructor(parent, { displayName, name, description, args }) {
    this.status = make("span", { class: "status" }, say("called"));
    const title = make("strong", {}, displayName || name);
    const what = make("span", { class: "what" }, visible(description));
    this.args = folded("args", say("args"));
    this.box = make("section", { class: "call", "aria-label": displayName || name },
      make("p", { class: "title" }, title, " ", what, " ", this.status), this.args);
    this.showArgs(args);
    parent.append(this.box);
  }

  showArgs(args) {
    const hasAny = Object.keys(args || {}).length > 0;
    this.args.hidden = !hasAny;
    if (hasAny) this.args.replaceChildren(this.args.firstChild, block(JSON.stringify(args, null, 2)));
  }

  stand(status, message) {
    this.status.textContent = say(status) || status;
    this.status.title = message;
    this.box.dataset.status = status;
    if (status !== "pending") this.settle();
  }

  ask({ command, diff, options, description, callId, sessionId }) {
    this.settle();
    this.box.dataset.status = "pending";
    this.status.textContent = say("pending");
    if (diff) this.showDiff(diff);
    else this.box.append(make("pre", { class: "command", tabindex: "0" }, visible(command)));
    const choices = [...options].sort(byReach).map(({ outcome, label }) => {
      const kind = { proceed_once: "main", cancel: "no" }[outcome] || "";
      return button(label || outcome, () => this.decide({ callId, sessionId, outcome }), kind);
    });
    this.question = make("div", { class: "question", role: "group", "aria-label": description },
      ...choices);
    this.box.append(this.question);
  }

  async decide(decision) {
    const { question } = this;
    const buttons = [...question.querySelectorAll("button")];
    for (const each of buttons) each.disabled = true;
    try {
      await post("/tool-confirmation", decision);
      this.settle();
      // The button that had the focus is gone.
      document.getElementById("message").focus();
    } catch (error) {
      question.querySelector(".trouble")?.remove();
      question.append(trouble(error));
      for (const each of buttons) each.disabled = false;
    }
  }

  settle() {
    this.question?.remove();
    this.question = null;
  }

  showDiff({ path, oldText, newText }) {
    const rows = difference(oldText, newText).map(({ sign, text }) =>
      make("span", { class: { "+": "come", "-": "gone", "@": "remark" }[sign] || "same" },
        sign === "@" ? text : `${sign} ${text}`));
    const lines = make("pre", { class: "diff", tabindex: "0" }, ...rows);
    this.box.append(make("figure", { "aria-label": say("change") },
      make("figcaption", {}, visible(path)), lines));
  }

  finish({ args, result, displayResult, success, error }) {
    this.settle();
    this.showArgs(args);
    this.stand(success ? "completed" : "failed", error || "");
    if (!success && error) this.box.append(make("p", { class: "why" }, visible(error)));
    const text = displayResult || result;
    if (text && text !== error) this.box.append(folded("result", say("result"), block(text)));
  }
}

/** A message and its answer. `note` is told in a few words what is going on. */
export class Turn {
  constructor(log, message, note) {
    this.note = note;
    this.calls = new Map();
    this.run = null;
    const title = make("h2", { class: "unseen" }, say("you"));
    const mine = make("p", { class: "mine" }, message);
    // Read aloud once it is complete, and not syllable by syllable.
    this.answer = make("div", { class: "answer", "aria-busy": "true" });
    this.box = make("article", {}, title, mine, this.answer);
    log.append(this.box);
  }

  show({ type, data }) {
    const known = {
      content: () => this.prose().add(data.text),
      thought: () => this.think(data),
      tool_call: () => this.calls.set(data.callId, new Call(this.fresh(), data)),
      tool_execution: () => this.call(data).stand(data.status, data.message),
      tool_confirmation: () => this.ask(data),
      tool_result: () => this.call(data).finish(data),
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
    if (!(this.run instanceof Prose)) this.run = new Prose(this.fresh());
    return this.run;
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
    const made = new Call(this.fresh(), { description: "", ...data });
    this.calls.set(data.callId, made);
    return made;
  }

  ask(data) {
    this.call(data).ask(data);
    this.note(say("asks"), true);
  }

  complete({ success, message, usage }) {
    this.end();
    if (!success) this.answer.append(notice(message));
    const names = Object.keys(usage.byModel || {}).join(", ");
    const counted = say("tokens", usage.inputTokens, usage.outputTokens);
    this.answer.append(make("p", { class: "usage" }, names ? `${counted} · ${names}` : counted));
    this.note(success ? say("answered") : message);
  }

  fail(error) {
    this.end();
    this.answer.append(trouble(error));
    this.note("");
  }

  get isOver() {
    return this.answer.getAttribute("aria-busy") === "false";
  }

  end() {
    this.fresh();
    for (const call of this.calls.values()) call.settle();
    this.answer.setAttribute("aria-busy", "false");
  }
}

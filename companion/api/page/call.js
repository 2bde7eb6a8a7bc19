// One call of a tool as the reader sees it: what it is, the decision about it, what came of it.

import { figureOf } from "./diff.js";
import { button, folded, make } from "./dom.js";
import { colour } from "./markdown.js";
import { say } from "./texts.js";
import { block, trouble } from "./trouble.js";
import { post } from "./wire.js";

// What allows least comes first, and rejecting last, where it is always found.
const REJECT = "cancel";
const REACH = { proceed_once: 0, modify_with_editor: 1, [REJECT]: 3 };
const byReach = (one, other) => (REACH[one.outcome] ?? 2) - (REACH[other.outcome] ?? 2);
const MODIFY = "modify_with_editor";
// The tools of the CLIs that write files; another one is known by the difference that it asks about.
const EDITS = new Set(["write_file", "replace", "edit", "Write", "Edit"]);
// The one whose argument is a command.
const SHELL = "run_shell_command";
// Characters of JSON that are coloured at most.
const MAX_COLOURED = 20_000;

/** Whether a field for text gives it back as it is, and hides nothing of it. */
function isEditable({ newText, shown }) {
  return shown.newText === undefined && (!newText.includes("\r") || !/(^|[^\r])\n/.test(newText));
}

const linesOf = (text) => text.replace(/\n$/, "").split("\n").length;

/** Arguments as the reader sees them. */
function json(args) {
  const text = make("pre", { tabindex: "0" }, JSON.stringify(args, null, 2));
  if (text.textContent.length < MAX_COLOURED) colour(text, "json");
  return text;
}

export class Call {
  constructor(
    parent, decisions, { displayName, name, description, args, canStop, callId, sessionId, shown = {} },
  ) {
    this.decisions = decisions;
    this.name = shown.displayName || displayName || name;
    this.isEdit = EDITS.has(name);
    this.isCommand = name === SHELL;
    this.hasEdited = false;
    // The edits that it asks about.
    this.figures = [];
    this.status = make("span", { class: "status" }, say("called"));
    this.what = make("span", { class: "what" },
      this.isCommand ? "" : shown.description ?? description);
    this.args = folded("args", say("args"));
    this.box = make("section", { class: "call", "aria-label": this.name },
      make("p", { class: "title" }, make("strong", {}, this.name), " ", this.what, " ", this.status),
      this.args);
    this.showArgs(shown.args ?? args ?? {});
    if (canStop) this.addStop(sessionId, callId);
    parent.append(this.box);
  }

  /** It is a subagent that can be stopped alone, while it works. */
  addStop(sessionId, callId) {
    const stop = async () => {
      this.stopping.disabled = true;
      try {
        await post(`/sessions/${encodeURIComponent(sessionId)}/subagents/stop`, { callId });
      } catch (error) {
        this.box.append(trouble(error));
      }
    };
    this.stopping = button(say("stop"), stop, "stop");
    this.stopping.hidden = true;
    this.status.after(" ", this.stopping);
  }

  /** Of a command, it stands there in its lines, with what it is for as its title. */
  showArgs(args) {
    const { command, description } = args;
    if (this.isCommand && typeof command === "string") {
      this.what.textContent = description ?? "";
      this.command ??= make("pre", { class: "command", tabindex: "0" }, command);
      if (!this.question) this.args.before(this.command);
    }
    const others = this.others(args);
    const hasAny = Object.keys(others).length > 0;
    this.args.hidden = !hasAny;
    if (hasAny) this.args.replaceChildren(this.args.firstChild, json(others));
  }

  /** The arguments that do not stand there anyway. */
  others(args) {
    if (!this.command) return args;
    const { command, description, ...others } = args;
    return others;
  }

  stand(status, message, isRejected = false) {
    this.status.textContent = say(isRejected ? "rejected" : status) || status;
    this.status.title = message;
    this.box.dataset.status = isRejected ? "rejected" : status;
    if (this.stopping) this.stopping.hidden = status !== "executing";
    if (status !== "pending") this.settle();
  }

  /** Also where it waits already, and the agent has changed what it asks. */
  ask(event) {
    const isAnew = Boolean(this.question);
    this.settle();
    this.figures.forEach((it) => it.remove());
    this.box.dataset.status = "pending";
    this.status.textContent = say("pending");
    this.asked = event;
    const { diff, moreDiffs = [], args, shown } = event;
    this.showArgs(shown.args ?? args);
    if (diff) this.showDiff(diff);
    const more = moreDiffs.map(figureOf);
    this.box.append(...more);
    this.figures = [...(diff ? [this.shown] : []), ...more];
    // All that there is to know stands in the question, and only there as long as it waits.
    this.args.hidden = true;
    this.command?.remove();
    this.question = this.decisions.ask({
      title: this.name, choices: this.choices(), about: this.about(isAnew),
      text: shown.asked && make("pre", { class: "command", tabindex: "0" }, shown.asked),
      changes: this.figures.map((it) => it.querySelector(".diff")),
    });
  }

  about(isAnew) {
    const { diff, command } = this.asked;
    const count = linesOf(command);
    const words = [isAnew ? say("askedAnew") : "", !diff && count > 1 ? say("lines", count) : ""];
    const about = make("span", {}, make("span", { class: "what" }, words.filter(Boolean).join(" · ")));
    if (diff) {
      const show = button(say("showCall"), () => this.box.scrollIntoView({ block: "nearest" }), "show");
      about.append(" ", make("code", {}, diff.shown.path), " ", show);
    }
    return about;
  }

  choices() {
    const { options, diff, callId, revision, sessionId } = this.asked;
    const all = options.filter(({ outcome }) => outcome !== MODIFY || isEditable(diff));
    return all.sort(byReach).map(({ outcome, label, shown }) => ({
      label: shown.label || outcome,
      kind: { proceed_once: "main", [REJECT]: "no", [MODIFY]: "edit" }[outcome] || "",
      allows: outcome !== REJECT,
      pressed: () => outcome === MODIFY ? this.edit()
        : this.decide({ callId, revision, sessionId, outcome }),
    }));
  }

  /** The proposed text to be changed, in the place of the difference. */
  edit() {
    const { diff, callId, revision, sessionId } = this.asked;
    const field = make("textarea", {
      class: "editor", spellcheck: "false", "aria-label": `${say("edit")}: ${diff.shown.path}`,
    });
    field.value = diff.newText;
    const figure = this.shown;
    figure.replaceWith(field);
    const isWindows = diff.newText.includes("\r\n");
    const text = () => isWindows ? field.value.replaceAll("\n", "\r\n") : field.value;
    this.question.setChoices([
      { label: say("saveEdit"), kind: "main", pressed: () =>
        this.decide({ callId, revision, sessionId, outcome: MODIFY, newContent: text() }) },
      { label: say("back"), kind: "back", pressed: () => {
        field.replaceWith(figure);
        this.field = null;
        this.question.setChoices(this.choices());
        document.getElementById("decisions").focus();
      } },
    ]);
    this.field = { field, diff, text };
    field.focus();
    field.setSelectionRange(0, 0);
    field.scrollTop = 0;
    field.scrollIntoView({ block: "nearest" });
  }

  async decide(decision) {
    const { question } = this;
    question.setBusy(true);
    question.box.querySelector(".trouble")?.remove();
    try {
      await post("/tool-confirmation", decision);
      this.settle();
    } catch (error) {
      question.box.append(trouble(error));
      question.setBusy(false);
    }
  }

  settle() {
    if (!this.question) return;
    if (this.field) {
      // What was typed is what is written, or nothing is.
      const { field, diff: { path, oldText, shown }, text } = this.field;
      const typed = figureOf({
        path, oldText, newText: text(), shown: { path: shown.path, oldText: shown.oldText },
      });
      field.replaceWith(typed);
      this.figures = [typed];
      this.field = null;
    }
    this.decisions.settle(this.question);
    this.question = null;
    this.showArgs(this.asked.shown.args ?? this.asked.args);
  }

  showDiff(diff) {
    this.isEdit = true;
    this.shown = figureOf(diff);
    this.box.append(this.shown);
  }

  /** What the agent did to files without a question. */
  showUnasked(edits) {
    if (!edits.length) return;
    this.box.append(make("div", { class: "unasked" },
      make("p", { class: "why" }, say("unasked")), ...edits.map(figureOf)));
  }

  /** What was written, in the place of what the agent wanted to write. */
  showWritten(edits) {
    if (!edits.length) return;
    this.figures.forEach((it) => it.remove());
    this.box.append(make("div", { class: "written" },
      make("p", { class: "why" }, say("written")), ...edits.map(figureOf)));
  }

  finish({
    args, result, displayResult, success, rejected, error, unaskedEdits = [], writtenEdits = [], shown,
  }) {
    this.settle();
    this.showArgs(shown.args ?? args);
    this.stand(success ? "completed" : "failed", error || "", rejected);
    this.hasEdited = (success && this.isEdit) || unaskedEdits.length > 0;
    if (!success && error) this.box.append(make("p", { class: "why" }, shown.error ?? error));
    const text = shown.displayResult ?? (displayResult || result);
    if (!rejected && text && displayResult !== error) {
      this.box.append(folded("result", say("result"), block(text)));
    }
    this.showWritten(writtenEdits);
    this.showUnasked(unaskedEdits);
  }
}

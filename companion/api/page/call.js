// One call of a tool as the reader sees it: what it is, the decision about it, what came of it.

import { difference, visible } from "./diff.js";
import { folded, make } from "./dom.js";
import { colour } from "./markdown.js";
import { say } from "./texts.js";
import { block, trouble } from "./trouble.js";
import { post } from "./wire.js";

// What allows least comes first, and rejecting last, where it is always found.
const REACH = { proceed_once: 0, modify_with_editor: 1, cancel: 3 };
const byReach = (one, other) => (REACH[one.outcome] ?? 2) - (REACH[other.outcome] ?? 2);
const MODIFY = "modify_with_editor";
// The tools of the CLIs that write files; another one is known by the difference that it asks about.
const EDITS = new Set(["write_file", "replace", "edit"]);

/** Whether a field for text gives it back as it is, and hides nothing of it. */
function isEditable(text) {
  const isOneKind = !text.includes("\r") || !/(^|[^\r])\n/.test(text);
  const plain = text.replaceAll("\r\n", "\n");
  return isOneKind && visible(plain) === plain;
}

export class Call {
  constructor(parent, decisions, { displayName, name, description, args }) {
    this.decisions = decisions;
    this.name = displayName || name;
    this.isEdit = EDITS.has(name);
    this.hasEdited = false;
    this.status = make("span", { class: "status" }, say("called"));
    const what = make("span", { class: "what" }, visible(description));
    this.args = folded("args", say("args"));
    this.box = make("section", { class: "call", "aria-label": this.name },
      make("p", { class: "title" }, make("strong", {}, this.name), " ", what, " ", this.status),
      this.args);
    this.showArgs(args);
    parent.append(this.box);
  }

  showArgs(args) {
    const hasAny = Object.keys(args || {}).length > 0;
    this.args.hidden = !hasAny;
    if (!hasAny) return;
    const text = block(JSON.stringify(args, null, 2));
    if (text.textContent.length < 20_000) colour(text, "json");
    this.args.replaceChildren(this.args.firstChild, text);
  }

  stand(status, message) {
    this.status.textContent = say(status) || status;
    this.status.title = message;
    this.box.dataset.status = status;
    if (status !== "pending") this.settle();
  }

  ask(event) {
    this.settle();
    this.box.dataset.status = "pending";
    this.status.textContent = say("pending");
    this.asked = event;
    const { command, diff, args } = event;
    this.showArgs(args);
    if (diff) this.showDiff(diff);
    else {
      // All that there is to know stands there before it is allowed.
      this.args.open = true;
      this.shown = make("pre", { class: "command", tabindex: "0" }, visible(command));
      this.box.append(this.shown);
    }
    this.question = this.decisions.ask({
      title: this.name,
      command: visible(diff ? diff.path : command),
      choices: this.choices(),
      box: this.box,
    });
  }

  choices() {
    const { options, diff, callId, sessionId } = this.asked;
    const all = options.filter(({ outcome }) => outcome !== MODIFY);
    if (diff && isEditable(diff.newText)) all.push({ outcome: MODIFY, label: say("edit") });
    return all.sort(byReach).map(({ outcome, label }) => ({
      label: label || outcome,
      kind: { proceed_once: "main", cancel: "no", [MODIFY]: "edit" }[outcome] || "",
      pressed: () => outcome === MODIFY ? this.edit()
        : this.decide({ callId, sessionId, outcome }),
    }));
  }

  /** The proposed text to be changed, in the place of the difference. */
  edit() {
    const { diff, callId, sessionId } = this.asked;
    const field = make("textarea", {
      class: "editor", spellcheck: "false", "aria-label": `${say("edit")}: ${diff.path}`,
    });
    field.value = diff.newText;
    const figure = this.shown;
    figure.replaceWith(field);
    const isWindows = diff.newText.includes("\r\n");
    const text = () => isWindows ? field.value.replaceAll("\n", "\r\n") : field.value;
    this.question.setChoices([
      { label: say("saveEdit"), kind: "main", pressed: () =>
        this.decide({ callId, sessionId, outcome: MODIFY, newContent: text() }) },
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
    const buttons = [...question.querySelectorAll(".choices button")];
    for (const each of buttons) each.disabled = true;
    question.querySelector(".trouble")?.remove();
    try {
      await post("/tool-confirmation", decision);
      this.settle();
    } catch (error) {
      question.append(trouble(error));
      for (const each of buttons) each.disabled = false;
    }
  }

  settle() {
    if (!this.question) return;
    if (this.field) {
      // What was typed is what is written, or nothing is.
      const { field, diff, text } = this.field;
      const newText = text();
      field.replaceWith(figureOf({ ...diff, newText }));
      this.field = null;
    }
    this.decisions.settle(this.question);
    this.question = null;
  }

  showDiff(diff) {
    this.isEdit = true;
    this.shown = figureOf(diff);
    this.box.append(this.shown);
  }

  finish({ args, result, displayResult, success, error }) {
    this.settle();
    this.showArgs(args);
    this.stand(success ? "completed" : "failed", error || "");
    this.hasEdited = success && this.isEdit;
    if (!success && error) this.box.append(make("p", { class: "why" }, visible(error)));
    const text = displayResult || result;
    if (text && text !== error) this.box.append(folded("result", say("result"), block(text)));
  }
}

function figureOf({ path, oldText, newText }) {
  const rows = difference(oldText, newText).map(({ sign, text }) =>
    make("span", { class: { "+": "come", "-": "gone", "@": "remark" }[sign] || "same" },
      sign === "@" ? text : `${sign} ${text}`));
  return make("figure", { "aria-label": say("change") },
    make("figcaption", {}, visible(path)), make("pre", { class: "diff", tabindex: "0" }, ...rows));
}

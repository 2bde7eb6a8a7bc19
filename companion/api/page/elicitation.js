// What an agent asks the user beside decisions on its tools: a form, or an address to be opened.

import { make } from "./dom.js";
import { say } from "./texts.js";
import { trouble } from "./trouble.js";
import { post } from "./wire.js";

const FORMATS = { email: "email", uri: "url", date: "date" };

/** The question in the conversation, and in the dock as long as it waits. */
export class Elicitation {
  constructor(parent, decisions, asked) {
    this.decisions = decisions;
    this.asked = asked;
    this.status = make("span", { class: "status" }, say("pending"));
    this.box = make("section", { class: "call", "data-status": "pending" },
      make("p", { class: "title" }, make("strong", {}, say("asksYou", decisions.agent)), " ",
        make("span", { class: "what" }, asked.shown.message), " ", this.status));
    parent.append(this.box);
  }

  ask() {
    const { mode, shown } = this.asked;
    const isForm = mode === "form";
    this.form = isForm ? new Form(this.asked.fields) : null;
    const lines = isForm ? shown.message : `${shown.message}\n\n${shown.url}`;
    this.question = this.decisions.ask({
      title: say("asksYou", this.decisions.agent),
      about: isForm ? "" : make("code", {}, shown.host),
      text: make("pre", { class: "command", tabindex: "0" }, lines),
      form: this.form?.box,
      choices: [
        ...(isForm || shown.host ? [this.acceptance(isForm)] : []),
        { label: say("decline"), kind: "no", pressed: () => this.answer("decline") },
      ],
    });
  }

  acceptance(isForm) {
    const pressed = () => {
      if (isForm && !this.form.box.reportValidity()) return;
      if (!isForm) window.open(this.asked.url, "_blank", "noopener,noreferrer");
      this.answer("accept", this.form?.values());
    };
    return { label: say(isForm ? "answer" : "openPlace"), kind: "main", allows: true, pressed };
  }

  async answer(action, content) {
    const { question } = this;
    question.setBusy(true);
    question.box.querySelector(".trouble")?.remove();
    try {
      const { elicitationId } = this.asked;
      await post("/elicitation", { elicitationId, action, ...(content && { content }) });
      this.settle(action);
    } catch (error) {
      question.box.append(trouble(error));
      question.setBusy(false);
    }
  }

  /** It waits no more, whoever answered. */
  settle(action = "cancel") {
    if (this.question) this.decisions.settle(this.question);
    this.question = null;
    if (this.box.dataset.status !== "pending") return;
    this.box.dataset.status = "completed";
    this.status.textContent = say({ accept: "wasAnswered", decline: "declined" }[action] ?? "notAnswered");
  }
}

class Form {
  constructor(fields) {
    this.fields = fields.map((field) => ({ field, ...control(field) }));
    this.box = make("form", { class: "fields" }, ...this.fields.map(({ box }) => box));
    // Enter in a field is not a decision yet.
    this.box.addEventListener("submit", (event) => event.preventDefault());
  }

  /** By the names of the fields; without those that were left empty. */
  values() {
    const found = this.fields.map(({ field, value }) => [field.name, value()]);
    return Object.fromEntries(found.filter(([, value]) => value !== undefined));
  }
}

/** `{box, value}`: the field with its label, and what it holds. */
function control(field) {
  const { type, shown, required } = field;
  const made = { boolean: toggle, choice: select, choices: several }[type] ?? input;
  const { element, value } = made(field);
  if (required && type !== "boolean" && type !== "choices") element.required = true;
  const title = required ? `${shown.title} *` : shown.title;
  const hint = shown.description ? [make("small", {}, shown.description)] : [];
  if (type === "choices") {
    return { box: make("fieldset", {}, make("legend", {}, title), ...hint, element), value };
  }
  return { box: make("label", {}, make("span", {}, title), element, ...hint), value };
}

function input({ type, format, minimum, maximum, default: given }) {
  const isNumber = type !== "string";
  const element = make("input", { type: isNumber ? "number" : FORMATS[format] ?? "text", autocomplete: "off" });
  const [least, most] = isNumber ? ["min", "max"] : ["minlength", "maxlength"];
  if (minimum !== null) element.setAttribute(least, minimum);
  if (maximum !== null) element.setAttribute(most, maximum);
  if (isNumber) element.step = type === "integer" ? "1" : "any";
  element.value = given ?? "";
  const text = () => element.value || undefined;
  return { element, value: () => isNumber && text() ? Number(element.value) : text() };
}

function toggle({ default: given }) {
  const element = make("input", { type: "checkbox" });
  element.checked = given === true;
  return { element, value: () => element.checked };
}

function select({ values, default: given }) {
  const all = values.map(({ value, shown }) => make("option", { value }, shown.name));
  const element = make("select", {}, make("option", { value: "" }), ...all);
  element.value = given ?? "";
  return { element, value: () => element.value || undefined };
}

function several({ values, required, default: given }) {
  const boxes = values.map(({ value, shown }) => {
    const box = make("input", { type: "checkbox", value });
    box.checked = (given ?? []).includes(value);
    return { box, label: make("label", {}, box, " ", shown.name) };
  });
  const element = make("div", {}, ...boxes.map(({ label }) => label));
  const chosen = () => boxes.filter(({ box }) => box.checked).map(({ box }) => box.value);
  return { element, value: () => required || chosen().length ? chosen() : undefined };
}

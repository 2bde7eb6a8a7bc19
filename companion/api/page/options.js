// The agent's options beside its model and its mode, which have a place of their own.

import { find, make } from "./dom.js";

const OWN = new Set(["model", "mode"]);

/** The option that the model or the mode is chosen with, if there is one. */
export const main = (options, category) => options.find((it) => it.category === category);

const others = (options) =>
  options.filter((each) => !OWN.has(each.category) || main(options, each.category) !== each);

export class Options {
  /** `chosen(id, value)` is called for what the user chose. */
  constructor(chosen) {
    this.chosen = chosen;
    this.shown = "[]";
  }

  show(options, isDisabled) {
    const all = others(options);
    const now = JSON.stringify(all);
    // Drawn anew, one would lose the focus.
    if (now !== this.shown) find("options").replaceChildren(...all.map((each) => this.field(each)));
    this.shown = now;
    for (const each of find("options").querySelectorAll("select, input")) each.disabled = isDisabled;
  }

  /** As the agent has them, where a choice was refused. */
  redraw() {
    this.shown = "";
  }

  field({ id, shown, description, type, value, values }) {
    const element = type === "boolean" ? make("input", { type: "checkbox" })
      : make("select", {}, ...values.map((it) =>
        make("option", { value: it.value, title: it.description }, it.shown.name)));
    if (type === "boolean") element.checked = value;
    else element.value = value;
    element.addEventListener("change", () =>
      this.chosen(id, type === "boolean" ? element.checked : element.value));
    return make("label", { title: description, "data-option": id }, make("span", {}, shown.name), " ", element);
  }
}

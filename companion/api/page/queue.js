// The messages that wait for the end of a turn: above the composer, each with what can be done with it.

import { button, find, make } from "./dom.js";
import { say } from "./texts.js";

export class Queue {
  /** What the user did with a message: `changed(id, text)`, `moved(id, position)`, `removed(id)`,
   * `sent(id)`. */
  constructor(told) {
    this.told = told;
    this.shown = "";
    // The id of the one that is being edited.
    this.edited = "";
  }

  /** That of the conversation that is looked at; nothing can be done with it where it `isFixed`. */
  show({ messages, isHeld, problem, passing }, isFixed) {
    const now = JSON.stringify([messages, isHeld, problem, passing, isFixed]);
    // Drawn anew, a button would lose the focus, and a field what was typed.
    if (now === this.shown) return;
    this.shown = now;
    const known = messages.some(({ queueId }) => queueId === this.edited);
    const field = known ? find("queue").querySelector("textarea")?.value : undefined;
    const focus = find("queue").contains(document.activeElement) ? document.activeElement.dataset.key : "";
    find("queue-box").hidden = !messages.length;
    const told = isHeld ? [problem, say("held")].filter(Boolean).join(" ") : "";
    find("queue-note").textContent = passing ? say("passing") : told;
    find("queue").replaceChildren(...messages.map((each, at) => this.item(each, at, isFixed)));
    if (field !== undefined) this.edit(messages.find(({ queueId }) => queueId === this.edited), field);
    if (focus) find("queue").querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus();
  }

  item({ queueId, text, attachments }, at, isFixed) {
    const names = attachments.map(({ name }) => name).join(", ");
    const shown = make("span", { class: "text" }, text);
    const along = names ? [make("small", {}, names)] : [];
    const box = make("li", { "data-id": queueId }, shown, ...along);
    if (isFixed) return box;
    const act = (key, sign, work) => {
      const element = button(sign, work, "small");
      element.setAttribute("aria-label", say(key, text));
      element.title = say(key, text);
      element.dataset.key = `${key}-${queueId}`;
      box.append(element);
      return element;
    };
    act("queueEdit", "✎", () => this.edit({ queueId, text }, text));
    act("queueUp", "↑", () => this.told.moved(queueId, at - 1)).disabled = at === 0;
    act("queueNow", say("queueNowWord"), () => this.told.sent(queueId)).title = "";
    act("queueRemove", "✕", () => {
      this.told.removed(queueId);
      find("message").focus();
    });
    return box;
  }

  /** In its place: Enter keeps what is typed, Escape what was there. */
  edit({ queueId, text }, value) {
    this.edited = queueId;
    const box = find("queue").querySelector(`[data-id="${CSS.escape(queueId)}"]`);
    const field = make("textarea", { rows: "1", "aria-label": say("queueEdit", text) });
    field.value = value;
    const close = () => {
      this.edited = this.shown = "";
      find("message").focus();
    };
    field.addEventListener("keydown", (event) => {
      const { key, shiftKey, isComposing } = event;
      if (isComposing || shiftKey || !["Enter", "Escape"].includes(key)) return;
      event.preventDefault();
      event.stopPropagation();
      const typed = field.value;
      close();
      if (key === "Enter" && typed.trim()) this.told.changed(queueId, typed);
      else this.told.kept();
    });
    box.querySelector(".text").replaceWith(field);
    field.focus();
  }
}

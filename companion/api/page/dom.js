// Elements made by hand. Texts go in as texts; markdown.js alone makes elements of what a model says.

/** `make("button", {class: "plain"}, "text", child, ...)` */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export const find = (id) => document.getElementById(id);

/** A button that does something when it is pressed. */
export function button(label, pressed, kind = "") {
  const element = make("button", { type: "button", class: kind }, label);
  element.addEventListener("click", pressed);
  return element;
}

/** Something that can be unfolded. */
export function folded(kind, title, ...children) {
  return make("details", { class: kind }, make("summary", {}, title), ...children);
}

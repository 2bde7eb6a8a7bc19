// Images and documents that go along with the next message: dropped, pasted, or chosen from the disk.

import { button, find, make } from "./dom.js";
import { say } from "./texts.js";

const hasFiles = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
const kilobytes = (size) => `${Math.max(1, Math.round(size / 1024)).toLocaleString()} KB`;

export class Attached {
  /** `added(files)` and `removed(file)` are called for what the user did. */
  constructor({ added, removed }) {
    this.added = added;
    this.removed = removed;
    this.shown = "[]";
    this.listen();
  }

  /** Those of the conversation that is looked at: `[{name, size, isThere}]`. */
  show(files) {
    const now = JSON.stringify(files);
    // Drawn anew, a button would lose the focus.
    if (now === this.shown) return;
    this.shown = now;
    find("attached").hidden = !files.length;
    find("attached").replaceChildren(...files.map((file) => this.item(file)));
  }

  item(file) {
    const { name, size, isThere } = file;
    const remove = button("✕", () => {
      this.removed(file);
      find("message").focus();
    }, "small");
    remove.setAttribute("aria-label", say("detach", name));
    remove.disabled = !isThere;
    const state = isThere ? kilobytes(size) : say("uploads");
    return make("li", {}, make("span", {}, name), make("small", {}, state), remove);
  }

  listen() {
    find("attach").addEventListener("click", () => find("files").click());
    find("files").addEventListener("change", ({ target }) => {
      this.added([...target.files]);
      // The same file can be chosen again.
      target.value = "";
      find("message").focus();
    });
    find("message").addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files];
      // Programs that copy a text may offer a picture of it, too.
      if (!files.length || event.clipboardData.types.includes("text/plain")) return;
      event.preventDefault();
      this.added(files);
    });
    const show = (isOn) => document.body.toggleAttribute("data-dropping", isOn);
    addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      show(true);
    });
    addEventListener("dragleave", ({ relatedTarget }) => relatedTarget || show(false));
    addEventListener("drop", (event) => {
      show(false);
      // Otherwise the browser would leave the page and open the file.
      if (!hasFiles(event)) return;
      event.preventDefault();
      this.added([...event.dataTransfer.files]);
      find("message").focus();
    });
  }
}

/** What went along with a message, below it; null where nothing did. */
export function enclosed({ files = [], attachments = [] }) {
  const names = [...files, ...attachments.map(({ name }) => name)];
  if (!names.length) return null;
  return make("ul", { class: "enclosed", "aria-label": say("attachments") },
    ...names.map((name) => make("li", {}, name)));
}

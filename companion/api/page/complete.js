// What can be chosen while one types a message: files after "@", and the agent's commands after a "/" at
// the beginning.

import { find, make } from "./dom.js";
import { say } from "./texts.js";
import { Lost, Refused } from "./wire.js";

const FILE = /(?:^|\s)@((?:\\.|[^\s\\])*)$/;
// Names of commands may have blanks in them.
const COMMAND = /^\/(.*)$/;
// Suggestions that are shown; typing on finds the others.
const MAX_SHOWN = 8;

const bare = (path) => path.replace(/\\(.)/g, "$1");
// A blank would end the path.
const spelled = (path) => path.replace(/[\s\\]/g, "\\$&");

/** Those that begin with the letters, and then those that have them elsewhere. */
function fitting(all, letters) {
  const wanted = letters.toLowerCase();
  const place = ({ name }) => name.toLowerCase().indexOf(wanted);
  const isShown = ({ name }) => wanted.startsWith(".") || !name.startsWith(".");
  const found = all.filter((it) => isShown(it) && place(it) >= 0);
  return found.sort((one, other) => Math.sign(place(one)) - Math.sign(place(other)));
}

/** Nothing where the server refuses, as for a folder that is not there: nobody has asked for it yet. */
async function offered(asked) {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refused || error instanceof Lost) return [];
    throw error;
  }
}

export class Completion {
  /** `sources` are `files(folder)` and `commands()`: promises of `[{name, detail, isFolder}]`, which
   * are asked for again with each word. */
  constructor(sources) {
    this.sources = sources;
    this.field = find("message");
    this.box = find("suggestions");
    this.items = [];
    this.chosen = -1;
    // Where the suggestions belong and how they are written there, and what was asked for last.
    this.start = 0;
    this.write = null;
    this.asked = "";
    this.answer = null;
    this.field.addEventListener("input", () => this.look());
    this.field.addEventListener("blur", () => this.close());
    this.field.addEventListener("keydown", (event) => this.press(event));
    // The field does not lose the focus to them.
    this.box.addEventListener("mousedown", (event) => event.preventDefault());
    this.box.addEventListener("click", ({ target }) =>
      this.accept([...this.box.children].indexOf(target.closest("li"))));
  }

  get isOpen() {
    return !this.box.hidden;
  }

  async look() {
    const before = this.field.value.slice(0, this.field.selectionStart);
    const file = FILE.exec(before);
    const command = COMMAND.exec(before);
    if (!file && !command) {
      this.close();
      this.asked = "";
      return;
    }
    const word = file ? bare(file[1]) : command[1];
    const folder = file ? word.slice(0, word.lastIndexOf("/") + 1) : "";
    const letters = word.slice(folder.length);
    const asked = file ? `@${folder}` : "/";
    if (asked !== this.asked) {
      this.asked = asked;
      this.answer = offered(file ? this.sources.files(folder) : this.sources.commands());
    }
    const all = await this.answer;
    // Somebody may have typed on meanwhile.
    if (this.field.value.slice(0, this.field.selectionStart) !== before) return;
    this.start = before.length - (file || command)[1].length;
    this.write = file ? (name) => spelled(folder + name) : (name) => name;
    this.show(fitting(all, letters).slice(0, MAX_SHOWN));
  }

  show(items) {
    this.items = items;
    this.box.hidden = !items.length;
    this.box.replaceChildren(...items.map(({ name, detail, isFolder }, at) => make("li", {
      id: `suggestion-${at}`, role: "option", "aria-selected": "false",
    }, make("span", {}, isFolder ? `${name}/` : name), make("small", {}, detail || ""))));
    find("suggested").textContent = items.length ? say("suggested", items.length) : "";
    this.choose(items.length ? 0 : -1);
  }

  choose(at) {
    this.chosen = at;
    [...this.box.children].forEach((each, place) =>
      each.setAttribute("aria-selected", String(place === at)));
    if (at < 0) {
      this.field.removeAttribute("aria-activedescendant");
    } else {
      this.field.setAttribute("aria-activedescendant", `suggestion-${at}`);
      this.box.children[at].scrollIntoView({ block: "nearest" });
    }
  }

  close() {
    if (this.isOpen) this.show([]);
  }

  press(event) {
    if (!this.isOpen || event.isComposing || event.keyCode === 229) return;
    const { length } = this.items;
    const work = {
      ArrowDown: () => this.choose((this.chosen + 1) % length),
      ArrowUp: () => this.choose((this.chosen + length - 1) % length),
      Enter: () => this.accept(this.chosen),
      Tab: () => this.accept(this.chosen),
      Escape: () => this.close(),
    }[event.key];
    if (!work || event.shiftKey) return;
    // Neither sends the message nor leaves the field.
    event.preventDefault();
    event.stopImmediatePropagation();
    work();
  }

  accept(at) {
    const { name, isFolder } = this.items[at];
    const end = this.field.selectionStart;
    const word = this.write(name) + (isFolder ? "/" : " ");
    this.close();
    this.field.setRangeText(word, this.start, end, "end");
    if (isFolder) this.look();
  }
}

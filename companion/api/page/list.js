// The list of the server's conversations: loaded as far as it is in sight, searched, opened, copied, saved,
// renamed and deleted.

import { WIDE } from "./device.js";
import { button, find, make } from "./dom.js";
import { Listing } from "./listing.js";
import { language, say } from "./texts.js";
import * as wire from "./wire.js";

const MAX_TITLE = 200;
// Milliseconds from a tap's end to its click, at most.
const TAP = 400;
// Milliseconds after a key until its words are searched for.
const TYPING = 200;
const path = ({ sessionId }) => `/sessions/${encodeURIComponent(sessionId)}`;
const titleOf = ({ title }) => title || say("newConversation");

export class List {
  /** `open(info)` and `removed(info)` are called for what the user did, `attempt` runs what can
   * fail. */
  constructor({ open, renamed, removed, attempt }) {
    Object.assign(this, { open, renamed, removed, attempt });
    this.listing = new Listing();
    // The items by the conversations' ids, each with the text that it was made of.
    this.items = new Map();
    this.current = "";
    // Whether a button of it may be held down, and something has changed meanwhile.
    this.isPressed = false;
    this.isStale = false;
    this.listenForPresses();
    this.listenForWords();
    this.end = new IntersectionObserver((entries) => {
      if (entries.at(-1).isIntersecting) this.attempt(() => this.more());
    }, { root: find("conversations"), rootMargin: "100%" });
    find("list-button").addEventListener("click", () => this.unfold(find("list").hidden));
    WIDE.addEventListener("change", () => this.unfold(WIDE.matches));
    find("list").addEventListener("keydown", ({ key }) => {
      if (key === "Escape" && !WIDE.matches) this.fold();
    });
    find("remove-no").addEventListener("click", () => find("remove").close());
    find("remove-yes").addEventListener("click", () => this.attempt(() => this.remove()));
    // The button that opened it may have been drawn anew.
    find("remove").addEventListener("close", () => find(`remove-${this.doomed.sessionId}`)?.focus());
  }

  /** A button that is drawn anew between a press and its end gets no click, so nothing is drawn until
   * then. */
  listenForPresses() {
    let ending = 0;
    const press = () => {
      clearTimeout(ending);
      this.isPressed = true;
    };
    const release = () => {
      this.isPressed = false;
      if (this.isStale) this.draw();
    };
    for (const type of ["pointerdown", "keydown"]) {
      find("conversations").addEventListener(type, press);
    }
    // A context menu swallows the end of the press that opened it.
    for (const type of ["pointerup", "pointercancel", "keyup", "contextmenu", "blur"]) {
      addEventListener(type, ({ pointerType }) => {
        clearTimeout(ending);
        // The click comes after it.
        ending = setTimeout(release, pointerType === "touch" ? TAP : 0);
      });
    }
  }

  listenForWords() {
    let typing = 0;
    find("search").addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => {
        const words = find("search").value.trim();
        if (words === this.listing.words) return;
        this.listing.search(words);
        find("conversations").scrollTop = 0;
        this.draw();
        this.attempt(() => this.more());
      }, TYPING);
    });
  }

  /** The next page, and others until the end of the list is out of sight. */
  async more() {
    if (this.listing.isWhole) return;
    await this.listing.more();
    this.draw();
  }

  start() {
    find("list-button").hidden = false;
    this.unfold(WIDE.matches);
  }

  unfold(isOn) {
    find("list").hidden = !isOn;
    find("list-button").setAttribute("aria-expanded", String(isOn));
    if (isOn && !WIDE.matches) find("search").focus();
  }

  fold() {
    this.unfold(false);
    find("list-button").focus();
  }

  /** The newest ones, the last used one first. */
  async refresh() {
    const newest = await this.listing.refresh();
    this.draw();
    return newest;
  }

  get isWhole() {
    return this.listing.all.isWhole;
  }

  mark(sessionId) {
    this.current = sessionId;
    this.draw();
  }

  draw() {
    this.isStale = this.isPressed;
    // Neither under a press nor while somebody types a title.
    if (this.isPressed || find("conversations").querySelector("form")) return;
    const { infos, isWhole, words } = this.listing;
    const shown = infos.filter((info) => info.turns || info.sessionId === this.current);
    const focus = document.activeElement?.id;
    this.place(shown.map((info) => this.kept(info)));
    if (focus && focus !== document.activeElement?.id) find(focus)?.focus({ preventScroll: true });
    const none = isWhole ? "nothingFound" : "searches";
    find("nothing-found").textContent = shown.length || !words ? "" : say(none);
  }

  /** Moves only those that are not where they belong: there may be thousands. */
  place(items) {
    const parent = find("conversations");
    for (const [at, item] of items.entries()) {
      if (parent.children[at] !== item) parent.insertBefore(item, parent.children[at] || null);
    }
    while (parent.children.length > items.length) parent.lastChild.remove();
    // The last one is looked at anew: it may still be in sight.
    this.end.disconnect();
    if (items.length && !this.listing.isWhole) this.end.observe(items.at(-1));
  }

  /** The item that is there already, unless something of it has changed. */
  kept(info) {
    const text = JSON.stringify([info, info.sessionId === this.current]);
    const known = this.items.get(info.sessionId);
    if (known?.text === text) return known.item;
    const item = this.item(info);
    this.items.set(info.sessionId, { text, item });
    return item;
  }

  item(info) {
    const title = titleOf(info);
    const time = new Date(info.lastUsed).toLocaleString(language,
      { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
    const small = make("small", {}, info.isBusy ? `${time} · ${say("atWork")}` : time);
    const open = button("", () => {
      if (!WIDE.matches) this.fold();
      this.attempt(() => this.open(info));
    }, "open");
    open.id = `open-${info.sessionId}`;
    open.append(make("span", {}, title), small);
    if (info.excerpt) open.append(make("small", { class: "excerpt" }, info.excerpt));
    const isCurrent = info.sessionId === this.current;
    if (isCurrent) open.setAttribute("aria-current", "true");
    const item = make("li", {}, open);
    const act = (kind, sign, label, work) => {
      const element = button(sign, work, `small ${kind}`);
      element.id = `${kind}-${info.sessionId}`;
      element.setAttribute("aria-label", say(label, title));
      element.title = say(label, title);
      item.append(element);
    };
    if (isCurrent && info.turns) {
      act("fork", "⧉", "copyThis", () => this.attempt(() => this.copy(info)));
      act("save", "⤓", "saveThis", () => this.attempt(() => this.save(info)));
    }
    act("rename", "✎", "rename", () => this.ask(item, info));
    act("remove", "✕", "removeThis", () => this.confirm(info));
    return item;
  }

  /** A new one with all that was said. */
  async copy(info) {
    const made = await wire.post(`${path(info)}/fork`);
    const title = say("copyOf", titleOf(info)).slice(0, MAX_TITLE);
    const named = await wire.patch(path(made), { title });
    await this.refresh();
    await this.open(named);
  }

  async save(info) {
    const address = URL.createObjectURL(await wire.file(`${path(info)}/export`));
    // What names of files cannot have is left out.
    const name = titleOf(info).replace(/[\p{Cc}\p{Cf}<>:"/\\|?*]/gu, " ").trim();
    make("a", { href: address, download: `${name}.md` }).click();
    URL.revokeObjectURL(address);
  }

  ask(item, info) {
    const field = make("input", { "aria-label": say("newTitle"), maxlength: MAX_TITLE });
    field.value = titleOf(info);
    const form = make("form", {}, field);
    let isOver = false;
    const end = (title) => {
      if (isOver) return;
      isOver = true;
      form.remove();
      this.items.delete(info.sessionId);
      this.draw();
      if (title && title !== titleOf(info)) this.attempt(() => this.rename(info, title));
    };
    const endByKey = (title) => {
      end(title);
      find(`open-${info.sessionId}`)?.focus();
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      endByKey(field.value.trim());
    });
    // The focus is on its way to what was clicked.
    field.addEventListener("blur", () => end(field.value.trim()));
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") endByKey("");
    });
    // The others stay where they are under a press that ends the typing.
    item.style.minHeight = `${item.offsetHeight}px`;
    item.replaceChildren(form);
    field.select();
  }

  async rename(info, title) {
    const changed = await wire.patch(path(info), { title });
    this.renamed(changed);
    this.listing.update(changed);
    await this.refresh();
  }

  confirm(info) {
    this.doomed = info;
    find("remove-what").textContent = titleOf(info);
    find("remove").showModal();
  }

  async remove() {
    // Another one may be chosen while this one is removed.
    const { doomed } = this;
    find("remove").close();
    await wire.remove(path(doomed));
    this.listing.drop(doomed.sessionId);
    this.items.delete(doomed.sessionId);
    await this.refresh();
    // Its button had it.
    if (document.activeElement === document.body) find("message").focus();
    await this.removed(doomed);
  }
}

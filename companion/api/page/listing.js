// The server's conversations as far as the page has loaded them: the newest ones, those that were scrolled
// to, and those that a search has found.

import * as wire from "./wire.js";

const LIMIT = 50;

/** Some of the conversations in an order of the server's, page by page. */
class Pages {
  /** `words` are those that are searched for, "" for all. */
  constructor(words) {
    this.words = words;
    this.infos = [];
    // Of the page that comes next; null before the first one, "" after the last one.
    this.cursor = null;
    this.loading = null;
    // Nobody wants it any more.
    this.isOver = false;
  }

  get isWhole() {
    return this.cursor === "";
  }

  async page(cursor) {
    const query = new URLSearchParams({ limit: LIMIT });
    if (this.words) query.set("q", this.words);
    if (cursor) query.set("cursor", cursor);
    const { sessions, nextCursor } = await wire.get(`/sessions?${query}`);
    return { sessions, next: nextCursor || "" };
  }

  /** The next page; of a search, as many as it takes to find something. */
  more() {
    this.loading ??= this.load().finally(() => { this.loading = null; });
    return this.loading;
  }

  async load() {
    const before = this.infos.length;
    while (!this.isWhole && this.infos.length === before && !this.isOver) {
      const { sessions, next } = await this.page(this.cursor);
      const known = new Set(this.infos.map(({ sessionId }) => sessionId));
      this.infos.push(...sessions.filter(({ sessionId }) => !known.has(sessionId)));
      this.cursor = next;
    }
  }

  /** The newest ones come first, the others stay as they were told. */
  async refresh() {
    const { sessions, next } = await this.page("");
    const fresh = new Set(sessions.map(({ sessionId }) => sessionId));
    const oldest = sessions.at(-1)?.lastUsed || "";
    // What was newer than these and is not among them is gone.
    const others = next ? this.infos.filter((it) => !fresh.has(it.sessionId) && it.lastUsed <= oldest) : [];
    this.infos = [...sessions, ...others];
    if (!others.length) this.cursor = next;
    return sessions;
  }

  /** What is told of some of them. */
  update(infos) {
    const fresh = new Map(infos.map((info) => [info.sessionId, info]));
    this.infos = this.infos.map((it) => ({ ...it, ...fresh.get(it.sessionId) }));
  }

  drop(gone) {
    this.infos = this.infos.filter(({ sessionId }) => sessionId !== gone);
  }
}

export class Listing {
  constructor() {
    this.all = new Pages("");
    this.shown = this.all;
  }

  get infos() {
    return this.shown.infos;
  }

  get words() {
    return this.shown.words;
  }

  get isWhole() {
    return this.shown.isWhole;
  }

  /** From now on those that have the words. */
  search(words) {
    this.shown.isOver = true;
    this.shown = words ? new Pages(words) : this.all;
    this.shown.isOver = false;
  }

  more() {
    return this.shown.more();
  }

  async refresh() {
    const newest = await this.all.refresh();
    if (this.shown !== this.all) this.shown.update(newest);
    return newest;
  }

  update(info) {
    for (const pages of [this.all, this.shown]) pages.update([info]);
  }

  drop(sessionId) {
    for (const pages of [this.all, this.shown]) pages.drop(sessionId);
  }
}

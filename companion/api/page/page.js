// The page: conversations with the Gemini CLI, through the server that the page came from.

import { Account } from "./account.js";
import { Attached } from "./attached.js";
import { Chat, NotTaken } from "./chat.js";
import { Completion } from "./complete.js";
import { Composer } from "./composer.js";
import { listenForKeys } from "./decisions.js";
import { find, make } from "./dom.js";
import { fillEmpty, showEmpty, showStarting } from "./empty.js";
import { List } from "./list.js";
import { Live } from "./live.js";
import { main, Options } from "./options.js";
import { Queue } from "./queue.js";
import { Scroll } from "./scroll.js";
import { listenForSettings } from "./settings.js";
import { label, say } from "./texts.js";
import { trouble } from "./trouble.js";
import * as wire from "./wire.js";

const TITLE = document.title;
const MODES = {
  default: "modeDefault", plan: "modePlan", autoEdit: "modeAutoEdit", yolo: "modeYolo",
  "auto-edit": "modeAutoEdit",
};

// The events after which the list is another one.
const REFRESHING = new Set(["message", "complete", "error", "session_title"]);

const stored = sessionStorage;
const scroll = new Scroll();
const account = new Account((isLoggedIn) => attempt(() => changedLogin(isLoggedIn)), agent);
const list = new List({ open: look, renamed, removed, attempt });
const attached = new Attached({ added, removed: (file) => attempt(() => chat.detach(file)) });
const options = new Options((id, value) => attempt(() => chooseOption(id, value)));
const queue = new Queue({
  changed: (id, message) => queued("PATCH", id, { message }),
  moved: (id, position) => queued("PATCH", id, { position }),
  removed: (id) => queued("DELETE", id),
  sent: (id) => queued("POST", id, {}, "/now"),
  kept: () => update(chat),
});
const live = new Live({ happened, missed: () => attempt(missed) });
// Before the message hears of a key, which may choose a suggestion.
new Completion({ files, commands });
const composer = new Composer({ obstacle, send, pressed: () => attempt(press) });
// Those that were opened in this tab by their ids, and the one that is looked at.
const chats = new Map();
let chat = null;
// How much is under way that brings a conversation, and the one that the message waits for, null where
// it is for the one that is brought.
let arrivals = 0;
let meant = null;
// How often another conversation was wanted; and the one of these for which one is being brought, which
// is shown only as long as no other is wanted.
let wishes = 0;
let brought = 0;
// The CLIs that the server offers.
let agents = [];
// The loading of earlier messages.
let earlier = null;
// Whether the server's second token was given.
let mayOnlyRead = false;

/** The CLI of the conversation that is looked at, or the one that was chosen for the next. */
function agent() {
  return agents.find(({ id }) => id === find("agent").value);
}

const nameOf = (id) => agents.find((it) => it.id === id)?.name ?? id;

/** Whoever is not logged in there is asked to, first. */
async function chooseAgent() {
  const { authType } = await account.refresh();
  if (authType) {
    await beginAnew(false);
  } else {
    // It is not for the other CLI.
    keep();
    account.open();
  }
}

async function leftLogin() {
  if (!chat || chat.info.agent === agent().id) return;
  find("agent").value = chat.info.agent;
  await account.refresh();
}

async function showAgents() {
  ({ agents } = await wire.get("/agents"));
  find("agent-label").hidden = agents.length < 2;
  find("agent").replaceChildren(...agents.map(({ id, name }) => make("option", { value: id }, name)));
  find("agent").value = agents.find(({ isDefault }) => isDefault).id;
}

/** What is to be seen of a conversation beside its messages. */
function update(which) {
  if (which !== chat) return;
  const isBusy = which.isBusy || mayOnlyRead;
  const { info, state, isUrgent, first } = chat;
  find("state").textContent = state;
  find("title").textContent = info.title || TITLE;
  document.title = `${isUrgent ? "● " : ""}${info.title ? `${info.title} – ` : ""}${TITLE}`;
  find("stop").hidden = !which.isBusy;
  find("stop").disabled = false;
  find("workspace").disabled = isBusy;
  showFolder(info.workspacePath);
  find("agent").disabled = isBusy;
  find("model").disabled = isBusy || !find("model").options.length;
  find("mode").disabled = isBusy;
  if ([...find("model").options].some(({ value }) => value === info.model)) {
    find("model").value = info.model;
  }
  queue.show(chat.queue, mayOnlyRead);
  showModes(chat);
  // The agent's own can be changed while it works; those that come by an earlier way cannot.
  options.show(chat.options, mayOnlyRead);
  attached.show(chat.attached);
  find("earlier-button").hidden = !first;
  showEmpty(chat.isEmpty && !mayOnlyRead ? info : null, agent().name);
  composer.go();
}

/** A turn broke off, or a file did not come: what waits for it may be wanted otherwise. */
function failed(which) {
  if (which === chat) keep();
}

/** What waits goes no more by itself. */
function keep() {
  if (composer.isWaiting) composer.hold("notSent");
}

/** Whether a conversation is being brought, and is still wanted. */
function isComing() {
  return arrivals > 0 && brought === wishes;
}

/** What is in the way of a message, as the name of the text that says so. */
function obstacle() {
  if (isComing()) return "waitsForConversation";
  return chat ? chat.obstacle : "waitsForLogin";
}

/** The token opens what was said, and nothing else. */
function onlyRead(why) {
  mayOnlyRead = true;
  for (const id of ["composer", "new", "account-button"]) find(id).hidden = true;
  for (const id of ["workspace", "agent", "model", "mode"]) find(id).disabled = true;
  find("state").textContent = why;
}

/** Where what was refused belongs to: the conversation that is looked at, or another one. */
function fail(error, where = chat) {
  // Of several requests that a token was too old for, some may be refused after the next one came.
  if (error.code === "UNAUTHORIZED" && !wire.isKept(error)) return;
  const shown = error instanceof wire.Lost ? { message: say("lost") } : error;
  if (where === chat) keep();
  if (shown === error && !(error instanceof wire.Refused)) {
    throw error;
  } else if (error.code === "UNAUTHORIZED") {
    wire.forgetToken();
    wantToken(say("tokenRefused"));
  } else if (error.code === "READ_ONLY" && !mayOnlyRead) {
    onlyRead(error.message);
  } else if (where) {
    where.fail(shown);
  } else {
    find("log").replaceChildren(trouble(shown));
    showEmpty(null);
    find("state").textContent = "";
  }
}

/** Makes a conversation the one that is looked at. */
function show(which) {
  const before = chat;
  chat = which;
  if (meant && meant !== chat) keep();
  chats.set(chat.info.sessionId, chat);
  stored.setItem("session", chat.info.sessionId);
  stored.setItem("workspace", chat.info.workspacePath);
  find("log").replaceChildren(chat.log);
  chat.decisions.show();
  list.mark(chat.info.sessionId);
  if (chat.info.agent !== agent().id) {
    find("agent").value = chat.info.agent;
    attempt(() => account.refresh());
  }
  update(chat);
  scroll.toEnd();
  // One in which nothing was said is of no use to anybody.
  if (before && before !== chat && !before.info.turns) drop(before);
}

/** The server removes none that it is just opening, and knows none that is removed. */
async function drop({ info, path, asking }) {
  chats.delete(info.sessionId);
  await Promise.allSettled([asking]);
  await wire.remove(path).catch(() => {});
}

/** Opens one of the list. */
function look(info) {
  // What waits was for the one that is being brought.
  if (isComing()) keep();
  wishes += 1;
  return open(info);
}

async function open(info) {
  const known = chats.get(info.sessionId);
  if (known) {
    show(known);
    await showModels();
    return;
  }
  const opened = new Chat(info, nameOf(info.agent), { changed: update, failed });
  show(opened);
  showModel();
  const loaded = opened.load();
  // Where a turn runs, it is over only with that turn.
  if (!info.isBusy) await loaded;
  await Promise.all([chat === opened && showModels(), loaded]);
}

/** What is being typed there stays, whatever comes from the server meanwhile. */
function showFolder(path) {
  const field = find("workspace");
  const isTyped = document.activeElement === field && field.value !== field.title;
  field.title = path;
  if (!isTyped) field.value = path;
}

/** Begins one; in the first folder of the server where none is named, or the named one is refused
 * though nobody typed it. Whether it is the one that is looked at: meanwhile another may be wanted. */
async function begin(workspacePath, isTyped = false, wish = wishes) {
  try {
    const where = workspacePath ? { workspacePath } : {};
    const info = await wire.post("/sessions", { ...where, agent: find("agent").value });
    const made = new Chat(info, nameOf(info.agent), { changed: update, failed });
    if (wish !== wishes) {
      drop(made);
      return false;
    }
    show(made);
  } catch (error) {
    if (["AUTH_REQUIRED", "ACCESS_DENIED"].includes(error.code)) account.open();
    if (isTyped || !workspacePath || error.code !== "PATH_REFUSED") throw error;
    stored.removeItem("workspace");
    return begin("", false, wish);
  }
  await Promise.all([showModels(), list.refresh()]);
  return true;
}

async function showModels() {
  const asked = chat;
  showModel();
  if (asked.isBusy || mayOnlyRead) return;
  const { current, models } = await asked.models();
  // Another one may be looked at by now. This one is asked again when it is shown again.
  if (asked !== chat) return;
  fillModels(current, models);
  await asked.loadOptions();
}

/** The one that the conversation has, as long as the others are not known. */
function showModel() {
  const { model } = chat.info;
  fillModels(model, model ? [{ id: model }] : []);
}

function fillModels(current, models) {
  const isListed = !current || models.some(({ id }) => id === current);
  const all = isListed ? models : [{ id: current }, ...models];
  find("model").replaceChildren(...all.map(({ id, name, description }) =>
    make("option", { value: id, title: description || "" }, name || id)));
  find("model").value = current;
  update(chat);
}

/** Those that the agent offers. */
function showModes({ info: { mode, modes }, options: known }) {
  const named = new Map(main(known, "mode")?.values.map(({ value, shown }) => [value, shown.name]));
  const offered = modes?.length ? modes : Object.keys(MODES);
  const all = offered.includes(mode) || !mode ? offered : [mode, ...offered];
  if ([...find("mode").options].map(({ value }) => value).join() !== all.join()) {
    find("mode").replaceChildren(...all.map((value) =>
      make("option", { value }, say(MODES[value]) || named.get(value) || value)));
  }
  find("mode").value = mode || all[0];
}

/** Each by itself, so that one that is refused costs no other. */
function added(files) {
  const asked = chat;
  if (!asked) composer.tell("filesLater");
  else for (const file of files) asked.attach(file).catch((error) => fail(error, asked));
}

async function commands() {
  if (!chat) return [];
  const { commands: all } = await chat.commands();
  return all.filter(({ allowed }) => allowed)
    .map(({ name, description }) => ({ name, detail: description }));
}

async function choose(what) {
  const asked = chat;
  try {
    await asked.set({ [what]: find(what).value });
  } catch (error) {
    update(asked);
    await showModels().catch(() => {});
    throw error;
  }
}

function queued(method, id, body, what) {
  attempt(() => chat.withQueued(method, id, body, what).finally(() => update(chat)));
}

async function chooseOption(id, value) {
  const asked = chat;
  try {
    await asked.choose(id, value);
  } catch (error) {
    options.redraw();
    update(asked);
    throw error;
  }
}

/** Enter, or the button. */
async function press() {
  meant = isComing() ? null : chat;
  // Without a conversation something has failed, or nobody is logged in: it may be otherwise now.
  if (composer.press() && !chat && !arrivals) await start();
}

async function send(message) {
  const asked = chat;
  scroll.toEnd();
  try {
    if (asked.isBusy) {
      await asked.enqueue(message);
      return;
    }
    await asked.send(message);
    await account.refresh();
  } catch (error) {
    if (error instanceof NotTaken) composer.giveBack(message);
    attempt(() => recover(asked, error.cause || error));
  }
}

/** What is refused where a message is sent. */
async function recover(asked, error) {
  if (error.code === "SESSION_NOT_FOUND") {
    chats.delete(asked.info.sessionId);
    if (await bring(() => begin(asked.info.workspacePath))) chat.fail(error);
  } else {
    fail(error, asked);
  }
  await account.refresh();
}

/** An event of any conversation, also of those that this tab does not show. */
function happened(event) {
  const { type, data } = event;
  chats.get(data.sessionId)?.hear(event);
  if (REFRESHING.has(type)) attempt(refresh);
}

async function missed() {
  await Promise.all([refresh(), ...[...chats.values()].map((each) => each.reload())]);
}

async function files(folder) {
  if (!chat) return [];
  const path = `${chat.info.workspacePath}/${folder}`;
  const { items } = await wire.get(`/list-directory?path=${encodeURIComponent(path)}`);
  return items.map(({ name, type }) => ({ name, isFolder: type === "directory" }));
}

async function refresh() {
  for (const info of await list.refresh()) {
    const known = chats.get(info.sessionId);
    if (known) {
      known.info = info;
      update(known);
    }
  }
}

async function stop() {
  find("stop").disabled = true;
  // The turn may not have begun yet; then it can be tried again.
  find("stop").disabled = await chat.stop();
}

/** What was said stays where it is until the server has the new one. */
async function beginAnew(isTyped) {
  try {
    await begin(find("workspace").value.trim(), isTyped);
  } catch (error) {
    find("workspace").value = find("workspace").title;
    if (chat) update(chat);
    throw error;
  }
  find("message").focus();
}

function renamed(info) {
  const known = chats.get(info.sessionId);
  if (known) known.info = info;
  update(known);
}

async function removed({ sessionId }) {
  const known = chats.get(sessionId);
  chats.delete(sessionId);
  if (!known || known !== chat) return;
  chat = null;
  await bring(() => begin(known.info.workspacePath));
}

/** Once at a time, though a button and the reader's scrolling ask for it. */
function showEarlier() {
  earlier ??= addEarlier(chat).finally(() => { earlier = null; });
  return earlier;
}

async function addEarlier(asked) {
  if (!asked?.first) return;
  const add = await asked.earlier();
  if (asked === chat) scroll.hold(add);
  else add();
  update(asked);
}

/** Messages before those that are shown come when the reader is about to see the first one. */
function watchForEarlier() {
  const top = new IntersectionObserver((entries) => {
    if (!entries.at(-1).isIntersecting) return;
    top.disconnect();
    attempt(async () => {
      await showEarlier();
      top.observe(find("earlier-button"));
    });
  }, { root: find("scroller"), rootMargin: "50% 0px 0px" });
  top.observe(find("earlier-button"));
}

async function changedLogin(isLoggedIn) {
  find("model").disabled = true;
  if (!isLoggedIn) return;
  if (!chat) await bring(arrive);
  else if (chat.info.agent === agent().id) await showModels();
  else await bring(() => beginAnew(false));
}

/** Does what brings a conversation: a message waits for that, and it would take back another CLI that
 * is chosen meanwhile. */
async function bring(work) {
  arrivals += 1;
  wishes += 1;
  brought = wishes;
  find("agent").disabled = true;
  composer.go();
  let found;
  try {
    found = await work();
  } catch (error) {
    keep();
    throw error;
  } finally {
    arrivals -= 1;
    find("agent").disabled = mayOnlyRead || Boolean(chat?.isBusy);
  }
  composer.go();
  return found;
}

function wantToken(why = "") {
  // Nothing stands behind the form.
  const others = ["composer", "account-button", "new", "list", "list-button", "settings-button", "scroller",
    "to-end", "decisions"];
  for (const id of others) find(id).hidden = true;
  find("token-form").hidden = false;
  find("token-form").querySelector("p").textContent = `${why} ${say("tokenWanted")}`.trim();
  find("token").focus();
}

async function start() {
  if (!wire.hasToken()) {
    wantToken();
    return;
  }
  for (const id of ["composer", "account-button", "new", "settings-button", "scroller"]) find(id).hidden = false;
  find("token-form").hidden = true;
  list.start();
  find("message").focus();
  await bring(async () => {
    await showAgents();
    await live.start();
    await arrive();
  });
}

/** The conversation that this tab had before a reload, if the server still has it: what was said can be
 * read, whoever is logged in. Otherwise a new one, or how to log in. */
async function arrive() {
  const wish = wishes;
  const newest = await list.refresh();
  const { authType } = await account.refresh();
  const found = await kept(newest);
  // Somebody has opened another one.
  if (wish !== wishes) return;
  if (found) {
    await open(found);
  } else if (authType) {
    find("state").textContent = say("starts");
    showStarting();
    try {
      await begin(stored.getItem("workspace"));
    } catch (error) {
      showEmpty(null);
      throw error;
    }
    if (find("state").textContent === say("starts")) update(chat);
  } else {
    account.open();
  }
}

async function kept(newest) {
  const id = stored.getItem("session");
  const found = newest.find(({ sessionId }) => sessionId === id);
  if (found || !id || list.isWhole) return found;
  try {
    return await wire.get(`/sessions/${encodeURIComponent(id)}`);
  } catch (error) {
    if (error.code !== "SESSION_NOT_FOUND") throw error;
    return null;
  }
}

function takeTyped() {
  const token = wire.tokenIn(find("token").value);
  find("token").value = "";
  if (!token) {
    wantToken(say("tokenRefused"));
    return;
  }
  wire.keepToken(token);
  mayOnlyRead = false;
  attempt(start);
}

/** Does something and shows what the server refuses. */
function attempt(work) {
  work().catch(fail);
}

function listen() {
  const on = (id, type, work) => find(id).addEventListener(type, (event) => {
    event.preventDefault();
    work();
  });
  on("token-form", "submit", takeTyped);
  on("stop", "click", () => attempt(stop));
  on("new", "click", () => attempt(() => bring(() => beginAnew(false))));
  on("model", "change", () => attempt(() => choose("model")));
  on("mode", "change", () => attempt(() => choose("mode")));
  on("agent", "change", () => attempt(() => bring(chooseAgent)));
  on("account", "close", () => attempt(leftLogin));
  on("workspace", "change", () => attempt(() => bring(() => beginAnew(true))));
  on("earlier-button", "click", () => attempt(showEarlier));
  watchForEarlier();
  listenForKeys();
  listenForSettings();
  fillEmpty((text, others) => composer.offer(text, others));
  // A link with another token, opened in a tab where the page is open already.
  addEventListener("hashchange", () => wire.takeToken() && location.reload());
}

wire.takeToken();
label(document);
listen();
attempt(start);

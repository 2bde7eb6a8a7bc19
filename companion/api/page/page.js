// The page: a conversation with the Gemini CLI, through the server that the page came from.

import { Account } from "./account.js";
import { find, make } from "./dom.js";
import { label, say } from "./texts.js";
import { Turn, notice, trouble } from "./turn.js";
import * as wire from "./wire.js";

// Pixels from the end within which the reader counts as reading the newest.
const NEAR = 60;
// Characters of a message that a reload brings back.
const KEPT = 10_000;
const TITLE = document.title;

const kept = sessionStorage;
const log = find("log");
const account = new Account(changed);
// The conversation on the server, or a promise of it: `{sessionId, workspacePath, turns}`.
let session = null;
// While the models are asked for, the server takes no message for the conversation.
let asking = Promise.resolve();
let isFollowing = true;

/** In a few words, for the eye and for screen readers; `isUrgent` shows in the tab, too. */
function note(text, isUrgent = false) {
  find("state").textContent = text;
  document.title = isUrgent ? `● ${TITLE}` : TITLE;
}

// Scrolling goes along with what comes, but only for a reader who is at the end.
function followEnd() {
  log.addEventListener("scroll", () => {
    isFollowing = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR;
  });
  const toEnd = () => {
    if (isFollowing) log.scrollTop = log.scrollHeight;
  };
  new MutationObserver(() => requestAnimationFrame(toEnd))
    .observe(log, { childList: true, subtree: true, characterData: true });
}

function fail(error) {
  note("");
  if (error instanceof wire.Lost) {
    log.append(trouble({ message: say("lost") }));
  } else if (!(error instanceof wire.Refused)) {
    throw error;
  } else if (error.code === "UNAUTHORIZED") {
    wire.forgetToken();
    wantToken(say("tokenRefused"));
  } else {
    log.append(trouble(error));
  }
}

/** The conversation that this tab had, if the server still has it. */
async function known() {
  const id = kept.getItem("session");
  if (!id) return undefined;
  const { sessions } = await wire.get("/sessions");
  return sessions.find((each) => each.sessionId === id);
}

/** A new one; in the first folder of the server where none is named. */
function begun(workspacePath) {
  return wire.post("/sessions", workspacePath ? { workspacePath } : {});
}

/** Opens the conversation once, for all who need it. */
async function opened() {
  session ??= known().then((found) => found || begun(kept.getItem("workspace")));
  try {
    return show(await session);
  } catch (error) {
    session = null;
    throw error;
  }
}

function show(found) {
  kept.setItem("session", found.sessionId);
  kept.setItem("workspace", found.workspacePath);
  find("workspace").value = found.workspacePath;
  find("workspace").title = found.workspacePath;
  find("workspace").disabled = isBusy();
  return found;
}

async function showModels() {
  const { sessionId } = await opened();
  asking = wire.get(`/models?sessionId=${encodeURIComponent(sessionId)}`);
  const { current, models } = await asking;
  const isListed = !current || models.some(({ id }) => id === current);
  const all = isListed ? models : [{ id: current }, ...models];
  find("model").replaceChildren(...all.map(({ id, name, description }) =>
    make("option", { value: id, title: description || "" }, name || id)));
  find("model").value = current;
  find("model").disabled = isBusy() || !all.length;
}

async function chooseModel() {
  const { sessionId } = await opened();
  asking = wire.post("/model", { model: find("model").value, sessionId });
  try {
    await asking;
  } catch (error) {
    await showModels();
    throw error;
  }
}

function setBusy(isOn) {
  find("send").hidden = isOn;
  find("stop").hidden = !isOn;
  find("stop").disabled = false;
  for (const id of ["new", "model", "workspace"]) find(id).disabled = isOn;
  if (!find("model").options.length) find("model").disabled = true;
}

const isBusy = () => find("send").hidden;

/** Shows a stream of events as a turn, to its end. */
async function play(message, stream) {
  const turn = new Turn(log, message, note);
  let id = "";
  setBusy(true);
  note(say("works"));
  try {
    for await (const event of stream) {
      if (!id) {
        id = event.data.turnId;
        kept.setItem("turn", JSON.stringify({ id, message: message.slice(0, KEPT) }));
      }
      if (isLost()) note(say("works"));
      turn.show(event);
    }
  } finally {
    if (!turn.isOver) turn.end();
    setBusy(false);
  }
}

const noteLost = () => note(say("comesBack"));
const isLost = () => find("state").textContent === say("comesBack");

async function send() {
  const field = find("message");
  const message = field.value;
  if (!message.trim() || isBusy()) return;
  setBusy(true);
  isFollowing = true;
  note(say("starts"));
  try {
    const { sessionId } = await opened();
    await asking.catch(() => {});
    field.value = "";
    await play(message, wire.chat({ message, sessionId }, noteLost));
  } catch (error) {
    sendFailed(error, message);
  } finally {
    setBusy(false);
  }
  await account.refresh();
}

function sendFailed(error, message) {
  // What was refused as a whole can be sent once more without being typed again.
  if (error instanceof wire.Refused && !find("message").value) find("message").value = message;
  if (error.code !== "SESSION_NOT_FOUND") {
    fail(error);
    return;
  }
  forgetSession();
  note("");
  log.append(notice(say("forgotten")));
}

function forgetSession() {
  session = null;
  kept.removeItem("session");
  kept.removeItem("turn");
}

async function stop() {
  find("stop").disabled = true;
  const { sessionId } = await opened();
  const { cancelled } = await wire.post("/cancel", { sessionId });
  // The turn may not have begun yet; then it can be tried again.
  find("stop").disabled = cancelled > 0;
}

/** What was said stays where it is until the server has the new one. */
async function beginAnew() {
  try {
    const found = await begun(find("workspace").value.trim());
    forgetSession();
    session = Promise.resolve(found);
  } catch (error) {
    find("workspace").value = kept.getItem("workspace") || "";
    throw error;
  }
  log.replaceChildren();
  note("");
  find("message").focus();
  await showModels();
}

/** After a reload: the turn that runs, or the last one. */
async function takeUp() {
  const turn = JSON.parse(kept.getItem("turn") || "null");
  const found = turn && await known();
  if (!found) {
    kept.removeItem("turn");
    return;
  }
  session = Promise.resolve(show(found));
  if (found.turns > 1) log.append(notice(say("earlier")));
  try {
    await play(turn.message, wire.replay(turn.id, noteLost));
  } catch (error) {
    if (error.code !== "TURN_NOT_FOUND") throw error;
    // Another program spoke in the conversation since.
    kept.removeItem("turn");
    log.replaceChildren(notice(say("earlier")));
  }
  note("");
}

async function changed(isLoggedIn) {
  session = null;
  find("model").disabled = true;
  if (isLoggedIn) await showModels();
}

function wantToken(why = "") {
  find("composer").hidden = true;
  find("token-form").hidden = false;
  find("token-form").querySelector("p").textContent = `${why} ${say("tokenWanted")}`.trim();
  find("account-button").hidden = find("new").hidden = true;
  find("token").focus();
}

async function start() {
  if (!wire.hasToken()) {
    wantToken();
    return;
  }
  for (const id of ["composer", "account-button", "new"]) find(id).hidden = false;
  find("token-form").hidden = true;
  find("message").focus();
  const { isAuthenticated, authType } = await account.refresh();
  await takeUp();
  if (isAuthenticated) {
    note(say("starts"));
    await showModels();
    note("");
  } else if (!authType) {
    account.open();
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
  attempt(start);
}

/** Does something and shows what the server refuses. */
function attempt(work) {
  work().catch(fail);
}

function isSending({ key, shiftKey, isComposing, keyCode }) {
  // While a word is being composed, as in Chinese, Enter belongs to the input method; one browser
  // says so by the number only.
  return key === "Enter" && !shiftKey && !isComposing && keyCode !== 229;
}

function listen() {
  const on = (id, type, work) => find(id).addEventListener(type, (event) => {
    event.preventDefault();
    work();
  });
  on("composer", "submit", () => attempt(send));
  on("token-form", "submit", takeTyped);
  on("stop", "click", () => attempt(stop));
  on("new", "click", () => attempt(beginAnew));
  on("model", "change", () => attempt(chooseModel));
  on("workspace", "change", () => attempt(beginAnew));
  find("message").addEventListener("keydown", (event) => {
    if (!isSending(event)) return;
    event.preventDefault();
    attempt(send);
  });
  // A link with another token, opened in a tab where the page is open already.
  addEventListener("hashchange", () => wire.takeToken() && location.reload());
}

wire.takeToken();
label(document);
followEnd();
listen();
attempt(start);

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
let account;
// The conversation on the server, or a promise of it: `{sessionId, workspacePath, turns}`.
let session = null;
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
  if (error instanceof TypeError) {
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

/** The conversation that this tab had, or a new one. */
async function open() {
  const id = kept.getItem("session");
  if (id) {
    const { sessions } = await wire.get("/sessions");
    const known = sessions.find((each) => each.sessionId === id);
    if (known) return known;
  }
  const workspacePath = find("workspace").value || kept.getItem("workspace") || undefined;
  return wire.post("/sessions", { workspacePath });
}

/** Opens it once, for all who need it. Throws what the server refuses. */
async function opened() {
  session ??= open();
  try {
    const found = await session;
    kept.setItem("session", found.sessionId);
    kept.setItem("workspace", found.workspacePath);
    find("workspace").value = found.workspacePath;
    find("workspace").title = found.workspacePath;
    find("workspace").disabled = false;
    return found;
  } catch (error) {
    session = null;
    throw error;
  }
}

function forgetSession() {
  session = null;
  kept.removeItem("session");
  kept.removeItem("turn");
}

async function showModels() {
  const { sessionId } = await opened();
  const { current, models } = await wire.get(`/models?sessionId=${encodeURIComponent(sessionId)}`);
  fillModels(current, models);
}

function fillModels(current, models) {
  const known = models.some(({ id }) => id === current) || !current
    ? models
    : [{ id: current, name: current }, ...models];
  find("model").replaceChildren(...known.map(({ id, name, description }) =>
    make("option", { value: id, title: description || "" }, name || id)));
  find("model").value = current;
  find("model").disabled = !known.length;
}

async function chooseModel() {
  const { sessionId } = await opened();
  const body = { model: find("model").value, sessionId };
  try {
    await wire.post("/model", body);
  } catch (error) {
    await showModels();
    throw error;
  }
}

function setBusy(isBusy) {
  find("send").hidden = isBusy;
  find("stop").hidden = !isBusy;
  find("stop").disabled = false;
  for (const id of ["new", "model", "workspace"]) find(id).disabled = isBusy;
}

const isBusy = () => find("send").hidden;

/** Shows a stream of events as a turn, to its end. */
async function play(message, stream) {
  const turn = new Turn(log, message, note);
  setBusy(true);
  try {
    for await (const event of stream) {
      kept.setItem("turn", JSON.stringify({
        id: event.data.turnId, message: message.slice(0, KEPT),
      }));
      turn.show(event);
    }
  } catch (error) {
    turn.end();
    note("");
    throw error;
  } finally {
    setBusy(false);
  }
}

const noteLost = () => note(say("comesBack"));

async function send() {
  const field = find("message");
  const message = field.value;
  if (!message.trim() || isBusy()) return;
  setBusy(true);
  isFollowing = true;
  note(say("starts"));
  try {
    const { sessionId } = await opened();
    field.value = "";
    note(say("works"));
    await play(message, wire.chat({ message, sessionId }, noteLost));
  } catch (error) {
    await sendFailed(error, message);
  } finally {
    setBusy(false);
    await account.refresh().catch(fail);
  }
}

async function sendFailed(error, message) {
  note("");
  // What was refused as a whole can be sent once more without being typed again.
  if (error instanceof wire.Refused && !find("message").value) find("message").value = message;
  if (error.code === "SESSION_NOT_FOUND") {
    forgetSession();
    log.append(notice(say("forgotten")));
  } else {
    fail(error);
  }
}

async function stop() {
  find("stop").disabled = true;
  const { sessionId } = await opened();
  await wire.post("/cancel", { sessionId });
}

async function beginAnew() {
  forgetSession();
  log.replaceChildren();
  note("");
  await showModels();
  find("message").focus();
}

/** After a reload: the turn that runs, or the last one. */
async function takeUp() {
  const turn = JSON.parse(kept.getItem("turn") || "null");
  if (!turn) return;
  const { turns } = await opened();
  if (turns > 1) log.append(notice(say("earlier")));
  try {
    await play(turn.message, wire.replay(turn.id, noteLost));
  } catch (error) {
    if (error.code !== "TURN_NOT_FOUND") throw error;
    kept.removeItem("turn");
    log.replaceChildren(notice(say("earlier")));
  }
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
  const isLoggedIn = await account.refresh();
  if (!isLoggedIn) {
    account.open();
    return;
  }
  note(say("starts"));
  await showModels();
  note("");
  await takeUp();
}

/** Does something and shows what the server refuses. */
const attempt = (work) => () => work().catch(fail);

function listen() {
  find("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send().catch(fail);
  });
  find("message").addEventListener("keydown", (event) => {
    // While a word is being composed, as in Chinese, Enter belongs to the input method.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send().catch(fail);
  });
  find("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    wire.keepToken(wire.tokenIn(find("token").value));
    find("token").value = "";
    start().catch(fail);
  });
  find("stop").addEventListener("click", attempt(stop));
  find("new").addEventListener("click", attempt(beginAnew));
  find("model").addEventListener("change", attempt(chooseModel));
  find("workspace").addEventListener("change", attempt(beginAnew));
  // The link with the token, opened in a tab where the page is open already.
  addEventListener("hashchange", () => wire.takeToken() && start().catch(fail));
}

wire.takeToken();
label(document);
account = new Account(async () => {
  session = null;
  await showModels().catch(fail);
});
followEnd();
listen();
start().catch(fail);

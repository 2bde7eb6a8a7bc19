// Requests to the server and the streams of its events, with the token that opens it.

import { language } from "./texts.js";

// As many times a lost stream is taken up again, with longer and longer pauses (milliseconds).
const PAUSES = [200, 500, 1000, 2000, 3000];
const TOKEN = /^[A-Za-z0-9_-]{1,200}$/;
const LAST = new Set(["complete", "error"]);

/** The server refused something: `code` and `message` are its own; `token` is what it was asked with. */
export class Refused extends Error {
  constructor(status, body, token) {
    super(body.message || body.error || `HTTP ${status}`);
    this.status = status;
    this.token = token;
    this.code = body.code || "";
    this.details = body.details || "";
    this.data = body.data || {};
  }
}

/** The server cannot be reached. */
export class Lost extends Error {}

// Browsers say so with an error that every bug of a page has, too.
function lost(error) {
  throw error instanceof TypeError ? new Lost(error.message) : error;
}

/** The token out of the address, a link or what was typed; "" where there is none. */
export function tokenIn(text) {
  const found = text.trim().split("#token=").pop();
  return TOKEN.test(found) ? found : "";
}

/** Takes the token out of the address bar, where others could see it and history would keep it. */
export function takeToken() {
  if (!location.hash.startsWith("#token=")) return false;
  const found = tokenIn(location.hash);
  history.replaceState(null, "", location.pathname);
  if (found) keepToken(found);
  return Boolean(found);
}

export function keepToken(token) {
  sessionStorage.setItem("token", token);
}

export function forgetToken() {
  sessionStorage.removeItem("token");
}

export function hasToken() {
  return Boolean(sessionStorage.getItem("token"));
}

/** Whether the token that was refused is the one that is kept: another may have come meanwhile. */
export function isKept({ token }) {
  return token === sessionStorage.getItem("token");
}

function send(method, path, body, more = {}, signal = null) {
  const token = sessionStorage.getItem("token");
  const headers = {
    "Authorization": `Bearer ${token}`,
    "Accept-Language": language,
    ...more,
  };
  // The browser itself names the type of a form, with what separates its members.
  const isForm = body instanceof FormData;
  if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
  const content = body === undefined || isForm ? body : JSON.stringify(body);
  // For what stands before several servers.
  if (body?.sessionId) headers["Session-Id"] = body.sessionId;
  const options = {
    method, headers, body: content, signal, cache: "no-store", redirect: "error",
  };
  return fetch(path, options).then((response) => Object.assign(response, { token }), lost);
}

async function refusal(response) {
  const text = await response.text().catch(lost);
  try {
    return new Refused(response.status, JSON.parse(text), response.token);
  } catch (error) {
    // Something between the page and the server answered.
    if (error instanceof SyntaxError) return new Refused(response.status, {}, response.token);
    throw error;
  }
}

/** What the server answers. Throws Refused and Lost. */
export async function ask(method, path, body) {
  const response = await send(method, path, body);
  if (!response.ok) throw await refusal(response);
  const answer = await response.json();
  if (answer.success === false) throw new Refused(response.status, answer, response.token);
  return answer;
}

/** What the server answers, as a file. Throws what `ask` does. */
export async function file(path) {
  const response = await send("GET", path);
  if (!response.ok) throw await refusal(response);
  return response.blob().catch(lost);
}

export const get = (path) => ask("GET", path);
export const patch = (path, body) => ask("PATCH", path, body);
export const remove = (path) => ask("DELETE", path);
export const upload = (path, file) => {
  const form = new FormData();
  form.append("file", file);
  return ask("POST", path, form);
};
export const post = (path, body = {}) => ask("POST", path, body);

/** The events of a message, to their last one. Throws what `ask` does. */
export function chat(body, noteLost) {
  const open = (seen) => seen ? resume(seen)
    : send("POST", "/chat", { ...body, stream: true }, sse());
  // A message must not be said twice.
  return follow(open, false, noteLost);
}

/** The events of a turn that was begun before, from its first one. `path` is its conversation's. Throws
 * what `ask` does. */
export async function* replay(path, turnId, noteLost) {
  const first = `${turnId}.0`;
  try {
    yield* follow((seen) => resume(seen || first), true, noteLost);
  } catch (error) {
    if (error.code !== "READ_ONLY") throw error;
    // Who listens there keeps the turn alive; who may only read listens to the conversation.
    const open = (seen) => send("GET", `${path}/events`, undefined, sse(seen || first));
    yield* follow(open, true, noteLost);
  }
}

/** The events of all conversations from now on, or after the one with this id, once the server has
 * begun to send them. Throws what `ask` does, and ends where the connection does. */
export async function everything(seen, signal) {
  const response = await send("GET", "/events", undefined, sse(seen), signal);
  if (!response.ok) throw await refusal(response);
  return events(response.body);
}

const sse = (seen) => ({ "Accept": "text/event-stream", ...(seen && { "Last-Event-ID": seen }) });

/** A turn's events after the one with this id. */
const resume = (seen) =>
  send("GET", `/chat/${encodeURIComponent(seen.split(".")[0])}/events`, undefined, sse(seen));

/** Reads the stream that `open` gives for the id of the last event that came, "" at first; where it is
 * lost, it is opened again, before the first event only where it `mayRepeat`. */
async function* follow(open, mayRepeat, noteLost) {
  let seen = "";
  let tries = 0;
  for (;;) {
    try {
      const response = await open(seen);
      if (!response.ok) throw await refusal(response);
      for await (const { id, event } of events(response.body)) {
        // A conversation's stream also has what belongs to no turn.
        if (!id) continue;
        seen = id;
        tries = 0;
        yield event;
        if (LAST.has(event.type)) return;
      }
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
    }
    if (!(seen || mayRepeat) || tries === PAUSES.length) throw new Lost();
    noteLost();
    await new Promise((done) => setTimeout(done, PAUSES[tries]));
    tries += 1;
  }
}

/** Server-sent events as objects. An event that was cut off by the stream's end is not one. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(lost);
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) {
        const { id, data } = fields(frame);
        if (data !== undefined) yield { id, event: JSON.parse(data) };
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function fields(frame) {
  const found = {};
  for (const line of frame.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) found[line.slice(0, at)] = line.slice(at + 2);
  }
  return found;
}

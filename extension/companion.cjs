// Runs inside a CLI's extension: `node companion.cjs hook EVENT PID` for each event of the CLI with
// that process, and `node companion.cjs tools` as the tool server `editor`, with one JSON message in
// each line. Without PID the CLI is the parent, or above it if the system has a shell in between.
//
// It passes on what the CLI says to the window of Sublime Text whose folder the CLI works in, and
// prints the answer. Everything is decided in the editor. If there is no editor, or it does not
// answer in time, a hook's answer is {}, and the server has no tools: the CLI works as it does
// without this extension. The window is looked for each time: an editor may start again.
//
// Anybody may listen on a port, and write into a temp folder. So only files are read that nobody but
// this user can write; and before anything is sent, the window proves that it has the key of its
// file. Each request is signed, and each answer. Of an answer only what `answers` names is printed.
//
// cli.json beside this file says what differs between CLIs: its `id`, `place` and `suffix` of the
// windows' files, `variables` of the environment, `limits` in milliseconds and `answers` by event.

'use strict';

const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const readline = require('readline');
const { text } = require('stream/consumers');

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv'];
// The names under which the editor's machine may be known.
const HOSTS = ['127.0.0.1', ...(CONTAINER_MARKS.some(fs.existsSync) ? ['host.docker.internal'] : [])];
const NOTHING = '{}';
// Gemini CLI takes a server that has nothing at all for one that is broken.
const RESOURCES = [{ uri: 'editor://none', name: 'No editor has this folder open' }];
const NO_EDITOR =
  'No editor has this folder open. Do without, or ask the user to open it in Sublime Text.';
const PING = '{"jsonrpc":"2.0","id":0,"method":"ping"}';
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n';
// What makes a client that tries MCP 2026-07-28 go on with the version of before: over stdio it would
// have to be told of changes on streams that are open here.
const OLDER = { code: -32601, message: 'Expected initialize first.' };
// Milliseconds between two looks for an editor, and in which a window has to prove itself.
const LOOK = 2000;
const GREETED = 3000;

// Bytes that are read of a window's file, of an answer before its proof, and of one behind it.
const MAX_FILE = 1 << 16;
const MAX_GREETING = 1 << 12;
const MAX_ANSWER = 1 << 26;
// Begins each text that is signed.
const FORM = 'gemini-companion 1';
const GREETING = '/extension';

// Of the extension that is being removed or written there is no row: then nothing is found.
const NO_ROW = {
  id: '',
  version: '',
  place: { folder: [] },
  suffix: '/',
  variables: {},
  limits: { other: 0 },
  answers: {},
};
const cli = attempt(() => JSON.parse(fs.readFileSync(path.join(__dirname, 'cli.json'), 'utf8')), NO_ROW);
let lookingOut;

function attempt(call, otherwise) {
  try {
    return call();
  } catch {
    return otherwise;
  }
}

/** The members of a JSON object; none if the text is no object. */
function members(text) {
  return Object(attempt(() => JSON.parse(text), {}));
}

/** The windows whose folders hold `folder`, that of the terminal first; none for an agent of a chat,
 * which tells and asks all that there. */
function windows(folder) {
  if (process.env.GEMINI_COMPANION_CHAT) return [];
  const root = cli.place.in_home ? path.join(__dirname, '..', '..') : os.tmpdir();
  const isOwn = (window) => Number(String(window.port) === process.env[cli.variables.port]);
  const place = attempt(() => ownFolder(root, cli.place.folder), '');
  return attempt(() => fs.readdirSync(place), [])
    .filter((name) => name.endsWith(cli.suffix))
    .map((name) => attempt(() => advertised(path.join(place, name)), null))
    .filter((window) => window && window.folders.some((each) => holds(each, folder)))
    .sort((one, other) => isOwn(other) - isOwn(one));
}

/** The folder below `root`, which others may write into; none of its own parts may be a link. */
function ownFolder(root, parts) {
  let place = root;
  for (const part of parts) {
    place = path.join(place, part);
    const status = fs.lstatSync(place);
    if (!status.isDirectory() || !isOurs(status)) throw new Error(place);
  }
  return place;
}

function ownText(file) {
  // Before it is opened, because that alone is an action for some devices, and follows a link.
  checkFile(fs.lstatSync(file));
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const descriptor = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const status = fs.fstatSync(descriptor);
    checkFile(status);
    const data = Buffer.alloc(status.size);
    return data.toString('utf8', 0, fs.readSync(descriptor, data));
  } finally {
    fs.closeSync(descriptor);
  }
}

function checkFile(status) {
  if (!status.isFile() || !isOurs(status) || status.size > MAX_FILE) throw new Error('not ours');
}

/** Whether nobody else could write it. On Windows each user has a temp folder of their own. */
function isOurs(status) {
  return !process.getuid || (status.uid === process.getuid() && !(status.mode & 0o022));
}

function advertised(file) {
  const { port, workspacePath, key } = members(ownText(file));
  if (!Number.isInteger(port) || typeof key !== 'string' || !key) return null;
  return { port, key, folders: String(workspacePath || '').split(path.delimiter) };
}

function holds(outer, inner) {
  const real = (folder) => attempt(() => fs.realpathSync(folder), path.resolve(folder));
  const relative = path.relative(real(outer), real(inner));
  return outer !== '' && relative.split(path.sep)[0] !== '..' && !path.isAbsolute(relative);
}

/** What is answered: a status, which is 0 if nobody hears, and 504 if no answer comes by `end`. */
function requested(options, body, end, most) {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(end - Date.now())));
    const fail = () => resolve({ status: signal.aborted ? 504 : 0 });
    const request = http.request({ ...options, signal }, (response) => {
      const pieces = [];
      let left = most;
      const proof = response.headers['companion-proof'];
      const done = () => resolve({ status: response.statusCode, proof, data: Buffer.concat(pieces) });
      response.on('data', (piece) => {
        left -= piece.length;
        if (left < 0) response.destroy();
        else pieces.push(piece);
      });
      response.on('end', done).on('error', fail).on('close', fail);
    });
    request.on('error', fail).end(body);
  });
}

function digest(data) {
  return crypto.createHash('sha256').update(data).digest('hex');
}

function isSame(given, made) {
  const [one, other] = [Buffer.from(String(given)), Buffer.from(made)];
  return one.length === other.length && crypto.timingSafeEqual(one, other);
}

/** The window's answer. The status is also 0 if who listens does not prove by `greeted` to be the
 * window: then nothing was sent. It is 502 if the answer is not the window's. */
async function post(host, { port, key }, route, body, greeted, end) {
  // The nonces count on one connection.
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const to = { agent, host, port };
  const ours = crypto.randomBytes(16).toString('hex');
  try {
    const asks = { ...to, path: GREETING, headers: { 'Companion-Nonce': ours } };
    const greeting = await requested(asks, '', greeted, MAX_GREETING);
    const { nonce, proof } = members(greeting.data);
    const signed = (...parts) => {
      const whole = [FORM, port, ours, nonce, ...parts].join('\n');
      return crypto.createHmac('sha256', key).update(whole).digest('hex');
    };
    if (typeof nonce !== 'string' || !isSame(proof, signed('server'))) return { status: 0 };
    const request = [cli.id, digest(body)];
    const place = GREETING + route;
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Extension ${[...request, signed('request', place, ...request)].join(' ')}`,
    };
    const answer = await requested({ ...to, method: 'POST', path: place, headers }, body, end, MAX_ANSWER);
    if (!answer.data) return answer;
    const isTheirs = isSame(answer.proof, signed('answer', answer.status, digest(answer.data)));
    return isTheirs ? { status: answer.status, said: answer.data.toString() } : { status: 502 };
  } finally {
    agent.destroy();
  }
}

/** The answer of the first window that takes the body; null if none does. One that fails or is late
 * may have done its work: then no other is asked, and the answer is empty. */
async function asked(found, route, body, end) {
  for (const [index, window] of found.entries()) {
    // Who only listens where a window was takes a share of the time, and not that of the others.
    const greeted = Date.now() + Math.min(GREETED, (end - Date.now()) / (found.length - index));
    for (const host of HOSTS) {
      const { status, said } = await post(host, window, route, body, greeted, end);
      if (status === 200) return said;
      if (status >= 500) return '';
    }
  }
  return null;
}

/** Of several windows the one that the CLI is connected to is asked; if there is none, the first. */
async function hook(event) {
  const input = JSON.parse(await text(process.stdin));
  const found = windows(String(input.cwd || process.cwd()));
  const end = Date.now() + (cli.limits[event] || cli.limits.other);
  const told = {
    pid: Number(process.argv[4]) || process.ppid,
    // On Linux it says which system's processes these are.
    pid_namespace: attempt(() => fs.readlinkSync('/proc/self/ns/pid'), ''),
    version: cli.version,
    input,
  };
  const ask = (more) => asked(found, '/hooks', JSON.stringify({ ...told, ...more }), end);
  const answer = found.length > 1 ? await ask({ only_connected: true }) : null;
  return printable(event, (answer === null ? await ask({}) : answer) || NOTHING);
}

/** The output at the event, made anew of what `answers` names: whatever else an answer says, this
 * program neither allows anything nor changes what a tool does. */
function printable(event, said) {
  const { decision, systemMessage, hookSpecificOutput } = members(said);
  const { additionalContext } = Object(hookSpecificOutput);
  const may = cli.answers[event] || [];
  const output = {};
  if (may.includes('ask') && decision === 'ask') {
    Object.assign(output, { decision, systemMessage: String(systemMessage || '') });
  }
  if (may.includes('context') && typeof additionalContext === 'string') {
    output.hookSpecificOutput = { hookEventName: event, additionalContext };
  }
  return JSON.stringify(output);
}

/** What the server says while there is no editor. */
function alone(method, params) {
  const serverInfo = { name: 'editor', version: cli.version };
  const { protocolVersion } = params || {};
  const capabilities = { tools: { listChanged: true }, resources: {} };
  if (method === 'initialize') return { protocolVersion, capabilities, serverInfo };
  if (method === 'tools/list') return { tools: [] };
  if (method === 'resources/list') return { resources: RESOURCES };
  if (method === 'tools/call') return { content: [{ type: 'text', text: NO_EDITOR }], isError: true };
  return {};
}

function askTools(line, milliseconds) {
  return asked(windows(process.cwd()), '/tools', line, Date.now() + milliseconds);
}

/** The line that answers a message; empty for one that needs no answer. */
async function served(line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || !method) return '';
  if (method === 'server/discover') return `${JSON.stringify({ jsonrpc: '2.0', id, error: OLDER })}\n`;
  const said = await askTools(line, cli.limits[method === 'tools/call' ? 'tools' : 'other']);
  const answer = members(said);
  if (!said && method === 'tools/list') lookOut();
  // One line and one answer, whatever the editor says.
  const { error, result = alone(method, params) } = answer.id === id ? answer : {};
  return `${JSON.stringify({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) })}\n`;
}

/** Tells the CLI that there are tools once an editor has its folder open. */
function lookOut() {
  const look = async () => {
    if (await askTools(PING, cli.limits.other)) process.stdout.write(CHANGED);
    else lookOut();
  };
  clearTimeout(lookingOut);
  lookingOut = setTimeout(look, LOOK).unref();
}

function serve() {
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => served(line).then((answer) => process.stdout.write(answer), () => {}));
}

const printed = (answer) => process.stdout.write(answer, () => process.exit(0));
// A CLI that is gone reads nothing.
process.stdout.on('error', () => process.exit(0));
if (process.argv[2] === 'tools') serve();
else hook(process.argv[3]).then(printed, () => printed(NOTHING));

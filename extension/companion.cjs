// Runs inside a CLI's extension: `node companion.cjs hook EVENT PID` for each event of the CLI with
// that process, and `node companion.cjs tools` as the tool server `editor`, with one JSON message in
// each line. Without PID the CLI is the parent.
//
// It passes on what the CLI says to the window of Sublime Text whose folder the CLI works in, and
// prints the answer. Everything is decided in the editor. If there is no editor, or it does not
// answer in time, a hook's answer is {}, and the server has no tools: the CLI works as it does
// without this extension. The window is looked for each time: an editor may start again.
//
// cli.json beside this file says what differs between CLIs: `place` and `suffix` of the discovery
// files, `variables` of the environment, `limits` in milliseconds by event.

'use strict';

const fs = require('fs');
const http = require('http');
const os = require('os');
const path = require('path');
const readline = require('readline');

const CONTAINER_MARKS = ['/.dockerenv', '/run/.containerenv'];
const LOOPBACK = '127.0.0.1';
const NOTHING = '{}';
// Gemini CLI takes a server that has nothing at all for one that is broken.
const RESOURCES = [{ uri: 'editor://none', name: 'No editor has this folder open' }];
const NO_EDITOR =
  'No editor has this folder open. Do without, or ask the user to open it in Sublime Text.';
// More windows than anybody has open on one folder.
const MAX_WINDOWS = 8;

const PING = '{"jsonrpc":"2.0","id":0,"method":"ping"}';
const CHANGED = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}';
// Milliseconds between two looks for an editor.
const LOOK = 2000;

let lookingOut;
const cli = row();

/** Of the extension that is being removed or written there is no row: then nothing is found. */
function row() {
  try {
    return JSON.parse(fs.readFileSync(path.join(__dirname, 'cli.json'), 'utf8'));
  } catch {
    return { version: '', place: { folder: [] }, suffix: '/', variables: {}, limits: { other: 0 } };
  }
}

/** The folders in which the CLI looks for discovery files. */
function discoveryFolder() {
  const root = cli.place.in_home ? path.join(__dirname, '..', '..') : os.tmpdir();
  return path.join(root, ...cli.place.folder);
}

/** The window of the terminal first, then all whose folders hold `folder`. */
function windows(folder) {
  const port = process.env[cli.variables.port];
  const found = advertised().filter((each) => each.folders.some((one) => holds(one, folder)));
  const own = found.filter((each) => String(each.port) === port);
  const rest = found.filter((each) => String(each.port) !== port);
  return [...own, ...rest].slice(0, MAX_WINDOWS);
}

function advertised() {
  const folder = discoveryFolder();
  return names(folder)
    .map((name) => advertisement(path.join(folder, name)))
    .filter((each) => each !== null);
}

function names(folder) {
  try {
    return fs.readdirSync(folder).filter((name) => name.endsWith(cli.suffix));
  } catch {
    return [];
  }
}

function advertisement(file) {
  try {
    const status = fs.statSync(file);
    const isOurs = !process.getuid || status.uid === process.getuid();
    const { port, workspacePath, authToken } = JSON.parse(fs.readFileSync(file, 'utf8'));
    if (!isOurs || !Number.isInteger(port) || typeof authToken !== 'string') return null;
    return { port, token: authToken, folders: String(workspacePath || '').split(path.delimiter) };
  } catch {
    return null;
  }
}

function holds(outer, inner) {
  if (!outer) return false;
  const relative = path.relative(real(outer), real(inner));
  return relative === '' || !(relative.split(path.sep)[0] === '..' || path.isAbsolute(relative));
}

function real(folder) {
  try {
    return fs.realpathSync(folder);
  } catch {
    return path.resolve(folder);
  }
}

/** The names under which the editor's machine may be known here. */
function hosts() {
  const isContainer = CONTAINER_MARKS.some((mark) => fs.existsSync(mark));
  return isContainer ? [LOOPBACK, 'host.docker.internal'] : [LOOPBACK];
}

/** The text of the window's answer; null if it gives none within the milliseconds. */
function post(host, window, route, body, milliseconds) {
  return new Promise((resolve) => {
    const give = (text) => {
      clearTimeout(timer);
      request.destroy();
      resolve(text);
    };
    const timer = setTimeout(() => give(null), milliseconds);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      Authorization: `Bearer ${window.token}`,
    };
    const options = { host, port: window.port, path: route, method: 'POST', headers };
    const request = http.request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', () => give(null));
      response.on('end', () => {
        give(response.statusCode === 200 ? Buffer.concat(chunks).toString('utf8') : null);
      });
    });
    request.on('error', () => give(null));
    request.end(body);
  });
}

/** The answer of the first window that gives one; null if none does. */
async function asked(found, route, body, milliseconds) {
  const end = Date.now() + milliseconds;
  for (const window of found) {
    for (const host of hosts()) {
      const answer = await post(host, window, route, body, Math.max(1, end - Date.now()));
      if (answer !== null) return answer;
    }
  }
  return null;
}

async function input() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function hook(event) {
  const text = await input();
  const found = windows(String(JSON.parse(text).cwd || process.cwd()));
  const pid = Number(process.argv[4]) || process.ppid;
  const body = `{"pid":${pid},"version":${JSON.stringify(cli.version)},"input":${text}}`;
  return (await asked(found, '/hooks', body, cli.limits[event] || cli.limits.other)) || NOTHING;
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

/** The line that answers a message; empty for one that needs no answer. */
async function served(line) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || !method) return '';
  const limit = method === 'tools/call' ? cli.limits.tools : cli.limits.other;
  const answer = await asked(windows(process.cwd()), '/tools', line, limit);
  if (answer === null && method === 'tools/list') lookOut();
  return answer || JSON.stringify({ jsonrpc: '2.0', id, result: alone(method, params) });
}

/** Tells the CLI that there are tools once an editor has its folder open. */
function lookOut() {
  const look = async () => {
    const answer = await asked(windows(process.cwd()), '/tools', PING, cli.limits.other);
    if (answer === null) lookOut();
    else process.stdout.write(`${CHANGED}\n`);
  };
  clearTimeout(lookingOut);
  lookingOut = setTimeout(look, LOOK).unref();
}

function tools() {
  process.stdout.on('error', () => process.exit(0));
  const lines = readline.createInterface({ input: process.stdin });
  const print = (answer) => answer && process.stdout.write(`${answer}\n`);
  lines.on('line', (line) => served(line).then(print, () => {}));
}

function print(text) {
  // A CLI that is gone reads nothing.
  process.stdout.on('error', () => process.exit(0));
  process.stdout.write(text, () => process.exit(0));
}

if (process.argv[2] === 'tools') tools();
else hook(process.argv[3]).then(print, () => print(NOTHING));

// Runs inside a CLI's extension: `node companion.cjs hook EVENT PID` for each event of the CLI with
// that process, and `node companion.cjs tools` as the tool server `editor`, with one JSON message in
// each line. Without PID the CLI is the parent, or above it if the system has a shell in between.
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
// Milliseconds between two looks for an editor.
const LOOK = 2000;

// Of the extension that is being removed or written there is no row: then nothing is found.
const NO_ROW = { version: '', place: { folder: [] }, suffix: '/', variables: {}, limits: { other: 0 } };
const cli = attempt(() => json(path.join(__dirname, 'cli.json')), NO_ROW);
let lookingOut;

function attempt(call, otherwise) {
  try {
    return call();
  } catch {
    return otherwise;
  }
}

function json(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

/** The windows whose folders hold `folder`, that of the terminal first. */
function windows(folder) {
  const root = cli.place.in_home ? path.join(__dirname, '..', '..') : os.tmpdir();
  const place = path.join(root, ...cli.place.folder);
  const isOwn = (window) => Number(String(window.port) === process.env[cli.variables.port]);
  return attempt(() => fs.readdirSync(place), [])
    .filter((name) => name.endsWith(cli.suffix))
    .map((name) => attempt(() => advertised(path.join(place, name)), null))
    .filter((window) => window && window.folders.some((each) => holds(each, folder)))
    .sort((one, other) => isOwn(other) - isOwn(one));
}

function advertised(file) {
  const isOurs = !process.getuid || fs.statSync(file).uid === process.getuid();
  const { port, workspacePath, authToken: token } = json(file);
  if (!isOurs || !Number.isInteger(port) || typeof token !== 'string') return null;
  return { port, token, folders: String(workspacePath || '').split(path.delimiter) };
}

function holds(outer, inner) {
  const real = (folder) => attempt(() => fs.realpathSync(folder), path.resolve(folder));
  const relative = path.relative(real(outer), real(inner));
  return outer !== '' && relative.split(path.sep)[0] !== '..' && !path.isAbsolute(relative);
}

/** The window's answer: a status, which is 0 if nobody hears, and 504 if none comes in time. */
function post(host, { port, token }, route, body, milliseconds) {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(milliseconds);
    const fail = () => resolve({ status: signal.aborted ? 504 : 0 });
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const options = { agent: false, headers, host, method: 'POST', path: route, port, signal };
    const request = http.request(options, (response) => {
      text(response).then((said) => resolve({ status: response.statusCode, said }), fail);
    });
    request.on('error', fail).end(body);
  });
}

/** The answer of the first window that takes the body; null if none does. One that fails or is late
 * may have done its work: then no other is asked, and the answer is empty. */
async function asked(found, route, body, end) {
  for (const window of found) {
    for (const host of HOSTS) {
      const { status, said } = await post(host, window, route, body, Math.max(1, end - Date.now()));
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
  return (answer === null ? await ask({}) : answer) || NOTHING;
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
  const answer = await askTools(line, cli.limits[method === 'tools/call' ? 'tools' : 'other']);
  if (!answer && method === 'tools/list') lookOut();
  return `${answer || JSON.stringify({ jsonrpc: '2.0', id, result: alone(method, params) })}\n`;
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

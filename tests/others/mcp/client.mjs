// TypeScript's client of MCP, as a user of it writes one: `node client.mjs URL TOKEN MODE FILE`. MODE
// is that of its `versionNegotiation`. Prints one JSON value in each line; ends once it has heard of
// its proposal for FILE.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, token, mode, file] = process.argv.slice(2);
const print = (value) => console.log(JSON.stringify(value));
const extensions = { 'gemini-companion/ide': { client: 'typescript' } };
const client = new Client(
  { name: 'of a test', version: '1.0.0' },
  { capabilities: { extensions }, versionNegotiation: { mode } },
);
let heard;
const decision = new Promise((resolve) => {
  heard = resolve;
});
client.fallbackNotificationHandler = async ({ method, params }) => {
  const { _meta, ...rest } = params;
  if (method !== 'ide/contextUpdate') heard([method, rest]);
};
const headers = { Authorization: `Bearer ${token}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
print(client.getNegotiatedProtocolVersion());
print((await client.listTools()).tools.map((tool) => tool.name));
const isModern = mode !== 'legacy';
const stream = isModern && (await client.listen({ toolsListChanged: true }));
if (stream) print(stream.honoredFilter);
const arguments_ = { filePath: file, newContent: 'theirs\n' };
print((await client.callTool({ name: 'openDiff', arguments: arguments_ })).content);
print(await decision);
await stream?.close?.();
await client.close();

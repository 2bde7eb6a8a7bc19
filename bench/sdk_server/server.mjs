// The same two tools on the npm MCP SDK with express, for comparison; shows no diff anywhere.
//
// Usage: node server.mjs [--json], with BENCH_TOKEN in the environment. Prints its port as one line
// and ends with its standard input. Streams its answers as the SDK does unasked; --json makes them
// single JSON bodies.

import { randomUUID } from "node:crypto";
import express from "express";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const authorization = `Bearer ${process.env.BENCH_TOKEN}`;
const enableJsonResponse = process.argv.includes("--json");
const transports = new Map();
const diffs = new Map();

function toolServer() {
  const server = new McpServer({ name: "sdk-server", version: "1.0.0" });
  server.registerTool(
    "openDiff",
    {
      description:
        "Show a proposed text of a file beside its present one, for the user to edit, accept or" +
        " reject. Answers at once; the decision follows as ide/diffAccepted or ide/diffRejected.",
      inputSchema: {
        filePath: z.string().min(1).describe("Absolute path of the file."),
        newContent: z.string().describe("The whole proposed text."),
      },
    },
    async ({ filePath, newContent }) => {
      diffs.set(filePath, newContent);
      return { content: [] };
    },
  );
  server.registerTool(
    "closeDiff",
    {
      description:
        "Close the diff of a file without a decision; answers with the proposal's text as the" +
        ' user left it, as JSON: {"content": "..."}.',
      inputSchema: {
        filePath: z.string().min(1).describe("Absolute path of the file."),
        suppressNotification: z.boolean().optional().describe("Accepted for older clients."),
      },
    },
    async ({ filePath }) => {
      const content = diffs.get(filePath);
      diffs.delete(filePath);
      return { content: [{ type: "text", text: JSON.stringify({ content }) }] };
    },
  );
  return server;
}

async function newTransport() {
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse,
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void transports.set(id, transport),
  });
  await toolServer().connect(transport);
  return transport;
}

const app = express();
app.use(express.json({ limit: "64mb" }));
app.use((request, response, next) => {
  if (request.headers.authorization === authorization) next();
  else response.status(401).send("Expected the bearer token.");
});
app.post("/mcp", async (request, response) => {
  const known = transports.get(request.headers["mcp-session-id"]);
  await (known ?? (await newTransport())).handleRequest(request, response, request.body);
});

const listener = app.listen(0, "127.0.0.1", () => console.log(listener.address().port));
process.stdin.resume().on("end", () => process.exit(0));

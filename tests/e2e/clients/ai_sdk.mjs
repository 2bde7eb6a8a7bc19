// node ai_sdk.mjs URL TOKEN SDK PROVIDER: what Vercel's AI SDK of one major version makes of the API, with its usual API and
// its other one.
import { z } from "zod";

globalThis.AI_SDK_LOG_WARNINGS = false;
const [url, token, sdk, provider] = process.argv.slice(2);
const { Output, generateText, streamText, tool } = await import(sdk);
const { createOpenAI } = await import(provider);
const openai = createOpenAI({ baseURL: url + "/v1", apiKey: token });
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const tools = { add: tool({ inputSchema: z.object({ a: z.number() }), execute: async () => 1 }) };
const Person = z.object({ mail: z.string().email() });
const image = { type: "file", mediaType: "image/png", data: PIXEL };

for (const model of [openai("gemini"), openai.chat("gemini")]) {
  const first = [{ role: "user", content: "hello" }];
  const whole = await generateText({ model, messages: first, tools, maxOutputTokens: 50, maxRetries: 0 });
  console.log(whole.text, whole.finishReason);
  const more = [...first, ...whole.response.messages, { role: "user", content: "again" }];
  console.log((await generateText({ model, messages: more, maxRetries: 0 })).text);
  let told = "";
  for await (const piece of streamText({ model, prompt: "hello", maxRetries: 0 }).textStream) told += piece;
  console.log(told);
  const shaped = { model, prompt: "person", output: Output.object({ schema: Person }), maxRetries: 0 };
  console.log(JSON.stringify((await generateText(shaped)).output));
  const seen = [{ role: "user", content: [{ type: "text", text: "picture" }, image] }];
  console.log((await generateText({ model, messages: seen, maxRetries: 0 })).text);
  const leaving = new AbortController();
  const left = [];
  for await (const piece of streamText({ model, prompt: "endless", abortSignal: leaving.signal, maxRetries: 0 }).fullStream) {
    left.push(piece.type);
    if (piece.type === "text-delta") leaving.abort();
  }
  console.log(left.slice(-2).join(" "));
  try {
    await generateText({ model: model.provider.endsWith("chat") ? openai.chat("none") : openai("none"), prompt: "x", maxRetries: 0 });
  } catch (error) {
    console.log(error.statusCode, error.data.error.code);
  }
}

// node responses.mjs URL TOKEN: OpenAI's own client and LangChain with the Responses API.
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";

const [url, token] = process.argv.slice(2);
const baseURL = url + "/v1";
const client = new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
const whole = await client.responses.create({ model: "gemini", input: "hello", instructions: "Be short." });
console.log(whole.output_text, whole.status, whole.usage.total_tokens > 0);
const next = { model: "gemini", input: "again", previous_response_id: whole.id, instructions: "Be short." };
console.log((await client.responses.create(next)).output_text);
const types = [];
for await (const event of client.responses.stream({ model: "gemini", input: "hello" })) types.push(event.type);
console.log([...new Set(types)].join(" "));
const chat = new ChatOpenAI({ model: "gemini", apiKey: token, useResponsesApi: true, configuration: { baseURL } });
console.log((await chat.invoke("hello")).text);
let told = "";
for await (const piece of await chat.stream("hello")) told += piece.text;
console.log(told);
for (const wrong of [{ previous_response_id: "resp_0" }, { background: true }]) {
  try {
    await client.responses.create({ model: "gemini", input: "x", ...wrong });
  } catch (error) {
    console.log(error.status, error.code, error.param);
  }
}

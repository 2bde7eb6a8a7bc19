// node structured.mjs URL TOKEN: JSON by a schema, as OpenAI's own client and LangChain ask for it.
import { HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const [url, token] = process.argv.slice(2);
const baseURL = url + "/v1";
const Point = z.object({ x: z.number().int(), y: z.number().int() });

const client = new OpenAI({ baseURL, apiKey: token });
const messages = [{ role: "user", content: "point" }];
const wanted = { model: "gemini", messages, response_format: zodResponseFormat(Point, "point") };
const parsed = await client.chat.completions.parse(wanted);
console.log(JSON.stringify(parsed.choices[0].message.parsed));
const streamed = await client.chat.completions.stream(wanted).finalChatCompletion();
console.log(JSON.stringify(streamed.choices[0].message.parsed));

const chat = new ChatOpenAI({ model: "gemini", apiKey: token, configuration: { baseURL } });
for (const method of ["jsonSchema", "jsonMode"]) {
  const model = chat.withStructuredOutput(Point, { name: "point", method });
  console.log(JSON.stringify(await model.invoke([new HumanMessage("point")])));
}
let told = "";
for await (const piece of await chat.stream("hello")) told += piece.content;
console.log(told);
const stopped = await chat.invoke("hello", { stop: ["."] });
console.log(stopped.content);
const limited = new ChatOpenAI({ model: "gemini", apiKey: token, maxTokens: 5, configuration: { baseURL } });
console.log((await limited.invoke("hello")).content);

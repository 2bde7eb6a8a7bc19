// node retries.mjs URL TOKEN WORD...: messages that fail, each by OpenAI's own client, by LangChain
// and by the AI SDK, whole and as a stream, with the retries that they come with.
import { createOpenAI } from "@ai-sdk/openai";
import { ChatOpenAI } from "@langchain/openai";
import { generateText } from "ai";
import OpenAI from "openai";

const [url, token, ...words] = process.argv.slice(2);
const baseURL = url + "/v1";
const client = new OpenAI({ baseURL, apiKey: token });
const chat = new ChatOpenAI({ model: "gemini", apiKey: token, configuration: { baseURL } });
const of = (content, stream) => ({ model: "gemini", messages: [{ role: "user", content }], stream });

const ways = [
  (word) => client.chat.completions.create(of(word, false)),
  (word) => client.chat.completions.create(of(word, true)),
  (word) => chat.invoke(word),
  async (word) => { for await (const _piece of await chat.stream(word)); },
  (word) => client.responses.create({ model: "gemini", input: word }),
  (word) => generateText({ model: createOpenAI({ baseURL, apiKey: token })("gemini"), prompt: word }),
];
for (const [at, word] of words.entries()) {
  try {
    await ways[at % ways.length](word);
  } catch (error) {
    console.log(error.status ?? error.statusCode, error.code ?? (error.error ?? error.data.error).code);
  }
}

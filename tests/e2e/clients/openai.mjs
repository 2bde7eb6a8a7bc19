// node openai.mjs URL TOKEN: what OpenAI's own client makes of the API.
import OpenAI from "openai";

const [url, token] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url + "/v1", apiKey: token });
const messages = [
  { role: "system", content: "Be short." },
  { role: "user", content: "hello" },
];

const whole = await client.chat.completions.create({ model: "gemini", messages });
console.log(whole.choices[0].message.content, whole.choices[0].finish_reason);
let said = "";
const stream = await client.chat.completions.create({ model: "gemini", messages, stream: true });
for await (const chunk of stream) said += chunk.choices[0]?.delta?.content ?? "";
console.log(said);
const { data } = await client.models.list();
console.log(data.length > 0);
try {
  await client.chat.completions.create({ model: "no such model", messages });
} catch (error) {
  console.log(error.status, error.code);
}

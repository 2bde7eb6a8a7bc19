// node eventsource_client.mjs URL TOKEN MESSAGE: prints the types of the events.
import { createEventSource } from "eventsource-client";

const [url, token, message] = process.argv.slice(2);
const source = createEventSource({
  url: url + "/chat",
  method: "POST",
  headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  body: JSON.stringify({ message, stream: true, newSession: true }),
});
for await (const { data } of source) {
  const { type } = JSON.parse(data);
  console.log(type);
  if (type === "complete") break;
}
source.close();

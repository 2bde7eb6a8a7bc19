// node eventsource.mjs URL TOKEN TURN: prints the types of the turn's events, until the client closes.
import { EventSource } from "eventsource";

const [url, token, turn] = process.argv.slice(2);
const source = new EventSource(`${url}/chat/${turn}/events`, {
  fetch: (input, init) =>
    fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } }),
});
// Its wait before it comes back would not keep Node running.
const waiting = setInterval(() => {}, 1000);
source.onmessage = ({ data }) => console.log(JSON.parse(data).type);
source.onerror = () => {
  if (source.readyState !== EventSource.CLOSED) return;
  console.log("closed");
  clearInterval(waiting);
};

// node fetch_event_source.mjs URL TOKEN MESSAGE: prints the types of the events.
globalThis.window = globalThis;
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
const { fetchEventSource } = await import("@microsoft/fetch-event-source");
const [url, token, message] = process.argv.slice(2);

await fetchEventSource(url + "/chat", {
  method: "POST",
  headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
  body: JSON.stringify({ message, stream: true, newSession: true }),
  openWhenHidden: true,
  onmessage({ data }) {
    console.log(JSON.parse(data).type);
  },
  onerror(error) {
    throw error;
  },
});

// node axios.mjs URL TOKEN MESSAGE: prints the types of the events, asked for with axios' own headers.
import axios from "axios";

const [url, token, message] = process.argv.slice(2);
const { data } = await axios.post(
  url + "/chat",
  { message, stream: true, newSession: true },
  { headers: { Authorization: `Bearer ${token}` }, responseType: "text" },
);
for (const block of data.split("\n\n")) {
  const line = block.split("\n").find((each) => each.startsWith("data: "));
  if (line) console.log(JSON.parse(line.slice("data: ".length)).type);
}

// What the generators for TypeScript made of openapi.json, used: `hey` and `schema` lie beside this.
import { createClient } from "./hey/client";
import { postChat } from "./hey/sdk.gen";
import type { StreamingEvent } from "./hey/types.gen";
import type { components } from "./schema";

type OfTheOther = components["schemas"]["StreamingEvent"];

/** Compiles only where `type` tells the events apart, for both generators. */
export function told(event: StreamingEvent, same: OfTheOther): string {
  if (event.type === "tool_confirmation" && same.type === "tool_confirmation") {
    const outcomes: string[] = event.data.options.map((each) => each.outcome);
    return outcomes.join() + same.data.command;
  }
  return event.type === "content" ? event.data.text : same.type;
}

async function main(): Promise<void> {
  const [baseUrl, token, message] = process.argv.slice(2);
  const client = createClient({ baseUrl, auth: () => token });
  const good = await postChat({ client, body: { message, newSession: true } });
  console.log(good.data?.response);
  const bad = await postChat({ client, body: { message, sessionId: "nobody's" } });
  console.log(bad.error?.code, bad.response?.status);
}

void main();

// What an agent tells of its turn beside the answer: the plan, and how full its context is.

import { make } from "./dom.js";
import { language, say } from "./texts.js";

const MARKS = { pending: "○", in_progress: "◐", completed: "●" };

/** The agent's plan, drawn anew in its place. */
export class Plan {
  constructor(parent) {
    this.list = make("ol", {});
    this.box = make("section", { class: "plan", "aria-label": say("plan") }, this.list);
    parent.append(this.box);
  }

  show({ entries }) {
    this.box.hidden = !entries.length;
    this.list.replaceChildren(...entries.map(({ status, shown }) =>
      make("li", { "data-status": status },
        make("span", { class: "mark", "aria-hidden": "true" }, MARKS[status] ?? MARKS.pending),
        make("span", { class: "unseen" }, `${say(`plan_${status}`)}: `), shown.content)));
  }
}

const count = (number) => number.toLocaleString(language);

function money({ amount, currency }) {
  try {
    return new Intl.NumberFormat(language, { style: "currency", currency }).format(amount);
  } catch {
    // Not every agent writes a currency that browsers know.
    return `${amount} ${currency}`;
  }
}

/** The line at the end of a turn; "" where the agent has told nothing. `context` may be null. */
export function usageLine({ inputTokens, outputTokens, byModel }, context) {
  const told = [];
  if (inputTokens || outputTokens) told.push(say("tokens", inputTokens, outputTokens));
  told.push(...Object.keys(byModel || {}));
  if (context?.size) {
    const part = Math.round((100 * context.used) / context.size);
    told.push(say("context", count(context.used), count(context.size), part));
  }
  if (context?.cost) told.push(say("cost", money(context.cost)));
  return told.join(" · ");
}

// The files that a turn changed, and the way back.

import { button, folded, make } from "./dom.js";
import { say } from "./texts.js";
import { notice, trouble } from "./trouble.js";
import { get, post } from "./wire.js";

/** Asks the server when it is unfolded: what was changed may have been changed again. */
export function changes({ sessionId, turnId }) {
  const path = `/sessions/${encodeURIComponent(sessionId)}/turns/${encodeURIComponent(turnId)}`;
  const body = make("div", { class: "changed" });
  const box = folded("changes", say("changes"), body);

  async function fill(asked) {
    try {
      const { files, message } = await asked;
      const isUndone = files.every(({ state }) => state === "undone");
      const remarks = files.some(({ state }) => state === "undone") ? [notice(message)] : [];
      body.replaceChildren(make("ul", {}, ...files.map(item)), ...remarks);
      if (!isUndone && files.some(({ state }) => state === "as_left")) body.append(undo());
    } catch (error) {
      body.replaceChildren(trouble(error));
    }
  }

  function undo() {
    const element = button(say("undo"), async () => {
      element.disabled = true;
      await fill(post(`${path}/undo`));
      box.firstChild.focus();
    }, "no");
    return element;
  }

  box.addEventListener("toggle", () => box.open && fill(get(`${path}/files`)));
  return box;
}

function item({ shown, change, state }) {
  return make("li", {}, make("code", {}, shown.path), " ",
    make("small", {}, `${say(change)} · ${say(state)}`));
}

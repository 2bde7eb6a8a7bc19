// Folder, CLI, model, mode and login: in the header where there is room for them, behind a button else.

import { NARROW } from "./device.js";
import { find } from "./dom.js";

const box = () => find("settings");
const opener = () => find("settings-button");

function unfold(isOn) {
  box().hidden = !isOn;
  opener().setAttribute("aria-expanded", String(isOn));
}

export function listenForSettings() {
  const fit = () => unfold(!NARROW.matches);
  opener().addEventListener("click", () => unfold(box().hidden));
  box().addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !NARROW.matches) return;
    unfold(false);
    opener().focus();
  });
  addEventListener("pointerdown", ({ target }) => {
    const isInside = box().contains(target) || opener().contains(target) || target.closest("dialog");
    if (NARROW.matches && !isInside) unfold(false);
  });
  NARROW.addEventListener("change", fit);
  fit();
}

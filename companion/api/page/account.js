// The dialog in which the user says who they are to Google, and the button that opens it.

import { find } from "./dom.js";
import { say } from "./texts.js";
import { trouble } from "./trouble.js";
import { get, post } from "./wire.js";

const KINDS = {
  "gemini-api-key": "kindKey",
  "vertex-ai": "kindVertex",
  "oauth-personal": "kindGoogle",
  "openai": "kindOpenai",
  "anthropic": "kindAnthropic",
  "own-login": "kindOwn",
};

/** `changed` is called with whether somebody is logged in, when that may be another one. `agent` gives
 * the CLI whose login it is, as the server describes it. */
export class Account {
  constructor(changed, agent) {
    this.changed = changed;
    this.agent = agent;
    this.dialog = find("account");
    find("account-button").addEventListener("click", () => this.open());
    find("account-close").addEventListener("click", () => this.dialog.close());
    find("kind").addEventListener("change", () => this.fit());
    find("account-form").addEventListener("submit", (event) => this.run(event, () => this.save()));
    find("code-form").addEventListener("submit", (event) => this.run(event, () => this.bring()));
    find("logout").addEventListener("click", (event) => this.run(event, () => this.leave()));
  }

  /** Asks how things stand, and shows it; `{isAuthenticated, authType, ...}`. */
  async refresh() {
    const { id } = this.agent();
    const { data } = await get(`/auth/status?agent=${encodeURIComponent(id)}`);
    const words = [say(KINDS[data.authType] || "loggedOut")];
    if (data.account) words.push(data.account);
    if (data.authType && !data.isAuthenticated) words.push(say("notComplete"));
    else if (data.authType) words.push(say(data.verified ? "verified" : "unverified"));
    find("account-button").textContent = `${say("login")}: ${words[0]}`;
    find("account-button").dataset.ok = String(data.isAuthenticated);
    find("account-state").textContent = words.join(" · ");
    find("logout").hidden = !data.authType;
    this.offer();
    // The login of the computer's user can be chosen in their editor alone.
    if (this.agent().authTypes.includes(data.authType)) find("kind").value = data.authType;
    this.fit();
    return data;
  }

  open() {
    if (this.dialog.open) return;
    find("account-error").replaceChildren();
    this.dialog.showModal();
    find(find("kind").value === "oauth-personal" ? "project" : "api-key").focus();
  }

  /** Only those kinds that the CLI has. */
  offer() {
    const { authTypes } = this.agent();
    for (const each of find("kind").options) each.hidden = each.disabled = !authTypes.includes(each.value);
    if (!authTypes.includes(find("kind").value)) [find("kind").value] = authTypes;
  }

  /** Only those fields that the chosen kind has. */
  fit() {
    const kind = find("kind").value;
    this.show(".for-key", !["oauth-personal", "own-login"].includes(kind));
    this.show(".for-cloud", ["vertex-ai", "oauth-personal"].includes(kind));
    this.show(".for-openai", ["openai", "anthropic"].includes(kind));
    find("account-save").textContent = say(kind === "oauth-personal" ? "codeLink" : "save");
  }

  show(selector, isShown) {
    for (const each of this.dialog.querySelectorAll(selector)) each.hidden = !isShown;
  }

  /** One request at a time, its refusal shown where the user looks. */
  async run(event, work) {
    event.preventDefault();
    const buttons = [...this.dialog.querySelectorAll("button")];
    find("account-error").replaceChildren();
    for (const each of buttons) each.disabled = true;
    try {
      await work();
    } catch (error) {
      find("account-error").append(trouble(error));
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  }

  async save() {
    const authType = find("kind").value;
    await post("/auth/config", {
      authType,
      agent: this.agent().id,
      apiKey: find("api-key").value,
      googleCloudProject: find("project").value.trim(),
      googleCloudLocation: find("location").value.trim(),
      baseUrl: find("base-url").value.trim() || null,
      model: find("login-model").value.trim() || null,
    });
    // Nobody who comes to this screen later should find it in the field.
    find("api-key").value = "";
    if (authType === "oauth-personal") await this.google();
    else await this.done();
  }

  async google() {
    const { data } = await post("/auth/google-login", { agent: this.agent().id });
    if (!data) {
      await this.done();
      return;
    }
    this.lead(data.authUrl);
    find("code").focus();
    await this.refresh();
  }

  lead(url) {
    const isSafe = URL.canParse(url) && new URL(url).protocol === "https:";
    find("code-form").hidden = !isSafe;
    if (isSafe) find("code-link").href = url;
  }

  async bring() {
    try {
      await post("/auth/google-login", {
        code: find("code").value.trim(), agent: this.agent().id,
      });
    } catch (error) {
      // Each try needs a new code, from a new place.
      if (error.data?.authUrl) this.lead(error.data.authUrl);
      throw error;
    } finally {
      find("code").value = "";
    }
    find("code-form").hidden = true;
    await this.done();
  }

  async leave() {
    await post("/auth/logout", { agent: this.agent().id });
    find("code-form").hidden = true;
    await this.done();
  }

  async done() {
    const { isAuthenticated } = await this.refresh();
    if (isAuthenticated) this.dialog.close();
    await this.changed(isAuthenticated);
  }
}

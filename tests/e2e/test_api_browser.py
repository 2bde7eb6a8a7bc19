"""Libraries of others in a page of another origin, in a real browser, with the CLI behind it."""

from __future__ import annotations

import functools
import os
import unittest
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agent_case import HERE
from model_server import serve
from page_case import PageCase
from playwright.async_api import Page

MODULES = os.path.join(HERE, "clients", "node_modules")
OPENAI = """
<!doctype html><script type="module">
import OpenAI from "/openai/index.mjs";
window.OpenAI = OpenAI;
</script>
"""
ASK = """async ([url, token]) => {
  const client = new OpenAI({ baseURL: url + "/v1", apiKey: token, dangerouslyAllowBrowser: true });
  const messages = [{ role: "user", content: "hello" }];
  const whole = await client.chat.completions.create({ model: "gemini", messages });
  let said = "";
  const stream = await client.chat.completions.create({ model: "gemini", messages, stream: true });
  for await (const chunk of stream) said += chunk.choices[0]?.delta?.content ?? "";
  const shape = { type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } };
  const point = [{ role: "user", content: "point" }];
  const json = await client.chat.completions.create(
    { model: "gemini", messages: point, response_format: shape });
  const id = (await client.models.retrieve("gemini")).id;
  const missing = await client.models.retrieve("none").catch((error) => [error.status, error.code]);
  return [whole.choices[0].message.content, said, json.choices[0].message.content, id, ...missing];
}"""
FOLLOW = """async ([url, token]) => {
  const headers = { Authorization: "Bearer " + token, "Content-Type": "application/json" };
  const open = async (more) => {
    const body = JSON.stringify({ path: "/events" });
    const answer = await fetch(url + "/tickets", { method: "POST", headers, body });
    return new EventSource(url + (await answer.json()).url + more);
  };
  const next = (source, type) => new Promise((resolve) => {
    source.onmessage = (event) => {
      if (JSON.parse(event.data).type === type) resolve(event.lastEventId);
    };
  });
  const say = () => fetch(url + "/chat",
    { method: "POST", headers, body: JSON.stringify({ message: "hello" }) });
  const source = await open("");
  await new Promise((resolve) => { source.onopen = resolve; });
  const first = next(source, "message");
  await say();
  const seen = await first;
  source.close();
  const again = await open("&lastEventId=" + seen);
  const last = await next(again, "complete");
  again.close();
  // The same address opens nothing again, and the browser does not come back.
  const used = new EventSource(again.url);
  const state = await new Promise((resolve) => { used.onerror = () => resolve(used.readyState); });
  return [seen.split(".")[0] === last.split(".")[0], state === EventSource.CLOSED];
}"""


class Handler(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        data = OPENAI.encode("utf-8")
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class BrowserCase(PageCase):
    site: ThreadingHTTPServer
    origin: str

    @classmethod
    def start(cls) -> None:
        handler = functools.partial(Handler, directory=MODULES)
        cls.site = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        cls.site.daemon_threads = True
        serve(cls.site)
        cls.shared.callback(cls.site.server_close)
        cls.shared.callback(cls.site.shutdown)
        cls.origin = f"http://127.0.0.1:{cls.site.server_address[1]}"
        cls.api = {**PageCase.api, "origins": frozenset((cls.origin,))}
        super().start()

    async def other_page(self) -> Page:
        page = await self.open(self.origin)
        await page.wait_for_function("() => !!window.OpenAI")
        return page


def setUpModule() -> None:
    if os.path.exists(MODULES):
        BrowserCase.start()


def tearDownModule() -> None:
    BrowserCase.stop()


@unittest.skipUnless(os.path.exists(MODULES), "the clients are not installed: make setup")
class Browser(BrowserCase):
    async def test_openais_own_client_works_in_a_page_of_an_allowed_origin(self) -> None:
        self.model.will_play("hello", ["Hi."])
        self.model.will_play("point", ["{}"])
        page = await self.other_page()
        told = await page.evaluate(ASK, [self.server.url, self.server.token])
        self.assertEqual(told, ["Hi.", "Hi.", "{}", "gemini", 404, "model_not_found"])

    async def test_an_event_source_follows_with_tickets_and_goes_on_where_it_was(self) -> None:
        self.model.will_play("hello", ["Hi."])
        page = await self.other_page()
        told = await page.evaluate(FOLLOW, [self.server.url, self.server.token])
        self.assertEqual(told, [True, True])

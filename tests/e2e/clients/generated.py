"""generated.py URL TOKEN MESSAGE: what openapi-python-client made of openapi.json, used.

That is `api_client`, beside this.
"""

import json
import sys

import httpx
from api_client import AuthenticatedClient
from api_client.api.chat import post_chat
from api_client.models import ContentEvent, ErrorResponse, PostChatRequest, PostChatResponse
from httpx_sse import connect_sse

url, token, message = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, timeout=httpx.Timeout(120))

good = post_chat.sync(client=client, body=PostChatRequest(message, new_session=True))
print(good.response if isinstance(good, PostChatResponse) else good)
bad = post_chat.sync(client=client, body=PostChatRequest(message, session_id="nobody's"))
print(bad.code if isinstance(bad, ErrorResponse) else bad)

said = ""
body = PostChatRequest(message, stream=True, new_session=True).to_dict()
with connect_sse(client.get_httpx_client(), "POST", "/chat", json=body) as source:
    for event in source.iter_sse():
        value = json.loads(event.data)
        if value["type"] == "content":
            said += ContentEvent.from_dict(value).data.text
print(said)

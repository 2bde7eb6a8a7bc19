"""with_responses.py URL TOKEN: what OpenAI's own client makes of the Responses API."""

import sys

from openai import OpenAI

url, token = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key=token, max_retries=0)
whole = client.responses.create(model="gemini", input="hello")
print(whole.output_text, whole.status)
again = client.responses.create(model="gemini", input="again", previous_response_id=whole.id)
print(again.output_text)
with client.responses.stream(model="gemini", input="hello") as stream:
    print(len([event.type for event in stream]) > 5)
    print(stream.get_final_response().output_text)

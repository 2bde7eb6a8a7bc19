"""with_openai.py URL TOKEN: what OpenAI's own client makes of the API."""

import sys

from openai import OpenAI, OpenAIError

url, token = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key=token)
messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "hello"}]

whole = client.chat.completions.create(model="gemini", messages=messages)
print(whole.choices[0].message.content, whole.choices[0].finish_reason)
said = ""
for chunk in client.chat.completions.create(model="gemini", messages=messages, stream=True):
    said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
print(said)
print(len(client.models.list().data) > 0)
try:
    client.chat.completions.create(model="no such model", messages=messages)
except OpenAIError as error:
    print(error.status_code, error.code)

"""retries.py URL TOKEN WORD...: messages that fail, by OpenAI's own client with the retries that it
comes with, by turns whole and as a stream."""

import sys

from openai import OpenAI, OpenAIError

url, token, *words = sys.argv[1:]
client = OpenAI(base_url=url + "/v1", api_key=token)
for at, word in enumerate(words):
    messages = [{"role": "user", "content": word}]
    try:
        client.chat.completions.create(model="gemini", messages=messages, stream=bool(at % 2))
    except OpenAIError as error:
        print(error.status_code, error.code)

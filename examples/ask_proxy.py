"""A program that knows nothing of groundwire, but for its base_url."""

import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="sk-...")
document = "Paris lies on the Seine. It has 2.1 million inhabitants."
messages = [
    {"role": "system", "content": f"Answer from the document.\n<document>{document}</document>"},
    {"role": "user", "content": "Tell me about Paris."},
]
for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
    print(chunk.choices[0].delta.content or "", end="")
print(f"\n— {chunk.groundwire['flagged_claims']} of {chunk.groundwire['claims']} claims flagged")

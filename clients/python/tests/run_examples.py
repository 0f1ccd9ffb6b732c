"""Performs calls of operations from standard input, and prints the faults as a JSON list.

The answer of each call, written again, must be the text on the wire.
"""

import asyncio
import json
import sys
from typing import Any

import wattledger
import wattledger.earlier
from wattledger import parse_exact, write_exact


def arguments(client: Any, call: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of the method of a call: ids of the path, then the body, then the query by name."""
    positional = list(call["path"].values())
    if call["body"] is not None:
        positional.append(parse_exact(call["body"], frozenset()))
    return positional, call["query"]


def run(given: dict[str, Any]) -> list[str]:
    """Perform the calls with the client without `async`."""
    client = wattledger.Wattledger(given["base_url"], given["api_key"], account_id=given["account_id"])
    texts: list[str] = []
    client._http.event_hooks = {"response": [lambda answer: texts.append(answer.read().decode())]}
    faults = []
    for call in given["calls"]:
        try:
            if call["accept"] is not None:
                with client.download(call["id"], call["accept"], path=call["path"], query=call["query"]) as chunks:
                    for _ in chunks:
                        pass
                continue
            positional, named = arguments(client, call)
            answer = getattr(client, call["id"])(*positional, **named)
            answer = answer.page() if hasattr(answer, "page") else answer
            if write_exact(answer) != texts[-1]:
                faults.append(f"{call['id']} changed {texts[-1]}")
        except Exception as error:
            faults.append(f"{call['id']}: {error!r}")
    return faults


async def run_async(given: dict[str, Any]) -> list[str]:
    """Perform the calls with the client for `async` programs."""
    client = wattledger.earlier.AsyncWattledger(given["base_url"], given["api_key"], account_id=given["account_id"])
    texts: list[str] = []

    async def record(answer: Any) -> None:
        texts.append((await answer.aread()).decode())

    client._http.event_hooks = {"response": [record]}
    faults = []
    for call in given["calls"]:
        try:
            positional, named = arguments(client, call)
            answer = getattr(client, call["id"])(*positional, **named)
            answer = await (answer.page() if hasattr(answer, "page") else answer)
            if write_exact(answer) != texts[-1]:
                faults.append(f"{call['id']} changed {texts[-1]}")
        except Exception as error:
            faults.append(f"{call['id']}: {error!r}")
    return faults


given = json.load(sys.stdin)
print(json.dumps(run(given) if given["version"] == "current" else asyncio.run(run_async(given))))

"""Our own check beside those of schemathesis; runs in its process, without the package."""

from __future__ import annotations

import schemathesis
from schemathesis import GenerationMode

# How the sentences begin that speak of the description and not of the disk or of the login.
OF_THE_DESCRIPTION = ("The field ", "Expected the field ", "Expected at most ", "The body ")
# With a key that was used before, a request would not be done; test_api_repeats has those.
LEFT_OUT = "Idempotency-Key"


@schemathesis.hook  # type: ignore[misc]
def before_load_schema(ctx, raw_schema) -> None:  # type: ignore[no-untyped-def]
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            known = operation["parameters"]
            operation["parameters"] = [
                parameter for parameter in known if parameter["name"] != LEFT_OUT
            ]


@schemathesis.check  # type: ignore[misc]
def refused_for_the_world_only(ctx, response, case) -> None:  # type: ignore[no-untyped-def]
    """Where valid data may get 400, it is for what cannot be described."""
    if response.status_code != 400 or case.meta is None:
        return
    if case.meta.generation.mode == GenerationMode.POSITIVE:
        sentence = response.json()["message"]
        if sentence.startswith(OF_THE_DESCRIPTION):
            raise AssertionError(f"valid data were refused as invalid: {sentence}")

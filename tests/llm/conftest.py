"""What the tests of the language models share: an endpoint that does not wait, a model, a store in memory."""

from collections.abc import Callable, Iterator

import pytest

from ragauge.llm import Model
from ragauge.store import Store
from ragauge.testing import ScriptedModel
from ragauge.wire import Endpoint


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open("sqlite://") as opened:
        yield opened


@pytest.fixture
def model_at() -> Callable[[ScriptedModel], Model]:
    def make(server: ScriptedModel) -> Model:
        return Model("judge", Endpoint(server.base_url, max_retries=2, backoff_s=0.0, timeout_s=10.0))

    return make

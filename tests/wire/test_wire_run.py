"""Coroutines run from ordinary code, from inside a running loop, and stopped by Ctrl-C."""

import asyncio
import contextvars
import signal
import subprocess
import sys
import threading

import pytest

from ragauge.testing import ScriptedModel
from ragauge.wire import Endpoint, Wire, run


async def answer(base_url: str) -> str:
    async with Wire(Endpoint(base_url)) as wire:
        reply = await wire.post("/chat/completions", {"messages": []})
    return str(reply["choices"][0]["message"]["content"])


def test_run_works_inside_a_running_loop() -> None:
    async def notebook_cell(base_url: str) -> str:
        before = asyncio.get_running_loop()
        said = run(answer(base_url))
        assert asyncio.get_running_loop() is before
        return said

    with ScriptedModel(lambda request: "yes") as model:
        assert asyncio.run(notebook_cell(model.base_url)) == "yes"


def test_run_works_in_another_thread_and_twice() -> None:
    said: list[str] = []
    with ScriptedModel(lambda request: "yes") as model:
        thread = threading.Thread(target=lambda: said.extend(run(answer(model.base_url)) for _ in range(2)))
        thread.start()
        thread.join()
    assert said == ["yes", "yes"]


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("late"), asyncio.CancelledError()])
def test_error_of_the_coroutine_is_raised_as_it_is(error: BaseException) -> None:
    async def fails() -> None:
        raise error

    with pytest.raises(type(error)):
        run(fails())


def test_coroutine_sees_the_callers_context() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")
    name.set("caller")

    async def read() -> str:
        return name.get()

    assert run(read()) == "caller"


INTERRUPTED = """
import asyncio
from ragauge.wire import run

async def main():
    try:
        print("started", flush=True)
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0)
        print("cleaned up", flush=True)

try:
    run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT the POSIX way")
def test_ctrl_c_cancels_cleans_up_and_is_raised_again() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        process.send_signal(signal.SIGINT)
        try:
            out, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert out == "cleaned up\ninterrupted\n"
    assert errors == ""


UNDER_UVLOOP = """
import asyncio, sys, uvloop
from ragauge.wire import Endpoint, Wire, run

async def answer():
    async with Wire(Endpoint(sys.argv[1])) as wire:
        return (await wire.post("/chat/completions", {"messages": []}))["choices"][0]["message"]["content"]

async def cell():
    assert "uvloop" in type(asyncio.get_running_loop()).__module__
    return run(answer())

print(uvloop.run(cell()))
with_policy = asyncio.Runner(loop_factory=uvloop.new_event_loop)
print(with_policy.run(cell()))
with_policy.close()
print(run(answer()))
"""

UNDER_NEST_ASYNCIO = """
import asyncio, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
import nest_asyncio
from ragauge.wire import Endpoint, Wire, run

async def answer():
    async with Wire(Endpoint(sys.argv[1])) as wire:
        return (await wire.post("/chat/completions", {"messages": []}))["choices"][0]["message"]["content"]

async def cell():
    nest_asyncio.apply()
    return run(answer())

loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
print(loop.run_until_complete(cell()))
print(run(answer()))
loop.close()
"""


@pytest.mark.parametrize(
    ("package", "program", "lines"), [("uvloop", UNDER_UVLOOP, 3), ("nest_asyncio", UNDER_NEST_ASYNCIO, 2)]
)
def test_run_works_where_another_package_has_changed_the_loops(package: str, program: str, lines: int) -> None:
    pytest.importorskip(package)
    with ScriptedModel(lambda request: "yes") as model:
        command = [sys.executable, "-c", program, model.base_url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["yes"] * lines, done.stderr


def test_run_works_beside_a_loop_that_runs_in_another_thread() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        with ScriptedModel(lambda request: "yes") as model:
            assert run(answer(model.base_url)) == "yes"

            async def from_there() -> str:
                return run(answer(model.base_url))

            assert asyncio.run_coroutine_threadsafe(from_there(), loop).result(30) == "yes"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

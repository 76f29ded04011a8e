"""A native object is not freed while another thread reads it, and not read once it is freed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from fakes.engines import make_engine, make_record
from roteiro.engine.backend import Alive
from roteiro.engine.guidance import Guide
from roteiro.errors import EngineClosed


def test_the_end_waits_for_a_reader() -> None:
    alive, ended, reading = Alive(), threading.Event(), threading.Event()
    ended_meanwhile: list[bool] = []

    def read() -> None:
        with alive:
            reading.set()
            ended_meanwhile.append(ended.wait(0.2))

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(5)
    alive.end()
    ended.set()
    reader.join()
    assert ended_meanwhile == [False]
    with pytest.raises(EngineClosed), alive:
        pass


def test_a_guide_is_of_no_use_after_its_vocabulary() -> None:
    alive = Alive()
    guide = Guide(lambda: pytest.fail("read after the end"), alive)
    alive.end()
    with pytest.raises(EngineClosed):
        guide.constraint('start: "a"')


@pytest.mark.anyio
async def test_a_guide_works_while_the_engine_does(tmp_path: Path) -> None:
    engine, _ = make_engine()
    handle = await engine.vocabulary(make_record(tmp_path))
    guide = await handle.run(Guide.for_vocabulary)
    constraint = await asyncio.to_thread(guide.constraint, 'start: "a"')
    assert constraint.forced()
    await engine.aclose()

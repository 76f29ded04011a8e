"""What is known of a model as a partner in conversation: template, call forms, thoughts, vocabulary.

Found once per file by probing the template (in a worker thread) and kept for the last few models; a
profile holds its vocabulary alive. Thread: event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from roteiro.chat.detect import Detection, detect
from roteiro.chat.dialects.dialect import Dialect
from roteiro.chat.reasoning import Reasoning
from roteiro.chat.template import ChatTemplate, load_template
from roteiro.conversation.echo import Echoes
from roteiro.engine.backend import Vocabulary
from roteiro.engine.engine import Engine
from roteiro.engine.guidance import Guide
from roteiro.engine.vocabulary import VocabularyHandle
from roteiro.modelstore.record import FileIdentity, ModelRecord

# A profile is small beside its vocabulary; the engine keeps as many of those.
KEPT_PROFILES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model's facts. `token_bytes` is for the engine thread; `opener` is the thought's first token.

    `special_ids` maps the text of each marker that is one token in this vocabulary to its id; `echoes` holds
    the turns it wrote last.
    """

    record: ModelRecord
    template: ChatTemplate
    detection: Detection
    vocabulary: VocabularyHandle
    guide: Guide
    token_bytes: Callable[[int], bytes]
    opener: int | None
    special_ids: Mapping[str, int] = field(default_factory=dict)
    echoes: Echoes = field(default_factory=Echoes)

    @property
    def turn_ends(self) -> tuple[str, ...]:
        """Texts of the tokens that end a turn."""
        ends = self.vocabulary.facts.end_tokens
        return tuple(text for text, token in self.special_ids.items() if token in ends)

    @property
    def call_markers(self) -> tuple[int, ...]:
        """Tokens without which no call can begin in the model's own form; () where others can begin one."""
        dialect = self.detection.dialect
        if dialect is None or self.detection.tools != "native":
            return ()
        openers = {*dialect.envelope.openers, *dialect.envelope.anywhere}
        if not openers <= self.special_ids.keys():
            return ()
        return tuple(sorted(self.special_ids[opener] for opener in openers))

    @property
    def reasoning(self) -> Reasoning | None:
        """How thoughts are marked, or None."""
        return self.detection.reasoning

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """Call forms to look for in an answer, the model's own first."""
        return self.detection.reading


class Profiles:
    """Makes and keeps profiles."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[str, FileIdentity], Profile] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def get(self, record: ModelRecord) -> Profile:
        """The model's profile.

        Raises:
            TemplateError: its template is not one.
            ModelUnusable, LoadFailed: its vocabulary cannot be loaded.
        """
        key = (record.id, record.identity)
        async with self._locks.setdefault(record.id, asyncio.Lock()):
            if key not in self._kept:
                self._kept[key] = await self._make(record)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_PROFILES:
                self._kept.popitem(last=False)
            return self._kept[key]

    # ---------------------------------------------------------------------------------------------

    async def _make(self, record: ModelRecord) -> Profile:
        vocabulary = await self._engine.vocabulary(record)
        facts = vocabulary.facts
        template, detection = await asyncio.to_thread(
            _look, record, facts.bos_text, facts.eos_text, facts.special_texts
        )
        opener = None
        if detection.reasoning is not None:
            start = await vocabulary.tokenize(detection.reasoning.start, parse_special=True)
            opener = start[0] if start else None
        return Profile(
            record=record,
            template=template,
            detection=detection,
            vocabulary=vocabulary,
            guide=await vocabulary.run(Guide.for_vocabulary),
            token_bytes=await vocabulary.run(lambda v: v.token_bytes),
            opener=opener,
            special_ids=await _single_tokens(vocabulary),
        )


def _look(
    record: ModelRecord, bos: str, eos: str, special_texts: tuple[str, ...]
) -> tuple[ChatTemplate, Detection]:
    template = load_template(record.header.chat_templates, bos_token=bos, eos_token=eos)
    return template, detect(template, special_tokens=special_texts)


async def _single_tokens(vocabulary: VocabularyHandle) -> dict[str, int]:
    texts = vocabulary.facts.special_texts

    def job(native: Vocabulary) -> dict[str, int]:
        found = {}
        for text in texts:
            tokens = native.tokenize(text, add_special=False, parse_special=True)
            if len(tokens) == 1:
                found[text] = tokens[0]
        return found

    return await vocabulary.run(job)

"""Chat templates: text that turns a conversation into a prompt, compiled in a bounded sandbox.

Public: `load_template(source, *, bos_token="", eos_token="") -> ChatTemplate`, where `source` is the
template's text, a mapping of named templates (`default`, `tool_use`) or None (ChatML, with a warning in
`ChatTemplate.warnings`); `ChatTemplate.render(messages, tools, variables) -> str`; `CHATML`.
Thread: any; rendering blocks for at most five seconds, so call it off the event loop.
"""

from roteiro.chat.template.capabilities import CallIds, Capabilities
from roteiro.chat.template.loading import CHATML, ChatTemplate, load_template, normalise_source

__all__ = [
    "CHATML",
    "CallIds",
    "Capabilities",
    "ChatTemplate",
    "load_template",
    "normalise_source",
]

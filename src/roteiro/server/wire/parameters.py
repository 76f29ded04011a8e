"""What becomes of every parameter a chat client may send: one row each, and the check that obeys it.

`supported` parameters are the fields of `ChatCompletionBody` (a test holds the two equal). `dropped` ones
change nothing a client could come to rely on. `refused` ones would make the client believe something
false, so they are a 400 that says what - except with a value that asks for what happens anyway.
docs/http-api.md is written from this table. Pure; thread: any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from roteiro.errors import UnsupportedParameter

Status = Literal["supported", "dropped", "refused"]
Origin = Literal["OpenAI", "llama.cpp", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One request field.

    Attributes:
        name: the JSON key.
        origin: whose API it comes from.
        status: what becomes of it.
        note: for `supported` how it is read, for `dropped` why that is harmless, for `refused` what
            would have been untrue and what to send instead.
        harmless: for `refused`, whether a value asks for what happens anyway. null always does.
    """

    name: str
    origin: Origin
    status: Status
    note: str
    harmless: Callable[[Any], bool] = lambda _value: False
    harmless_text: str = "null"


def refuse_unsupported(body: Mapping[str, Any]) -> None:
    """Refuse the first field whose promise cannot be kept.

    Raises:
        UnsupportedParameter: naming the field and what would have been untrue.
    """
    for name, value in body.items():
        row = BY_NAME.get(name)
        if row is None or row.status != "refused" or value is None or row.harmless(value):
            continue
        raise UnsupportedParameter(f"{name!r} is not supported: {row.note}", param=name)


def unknown_fields(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of fields that no row knows; they are ignored, and the reply's header says so."""
    return tuple(name for name in body if name not in BY_NAME)


def table_markdown() -> str:
    """The table as docs/http-api.md shows it."""
    lines = ["| Parameter | From | Status | What that means |", "|---|---|---|---|"]
    for row in PARAMETERS:
        note = row.note
        if row.status == "refused":
            note = f"{note} Taken without complaint: {row.harmless_text}."
        lines.append(f"| `{row.name}` | {row.origin} | {row.status} | {note} |")
    return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------


def _is(*values: Any) -> Callable[[Any], bool]:
    # 1 == True in Python, so the type is compared as well.
    return lambda value: any(value == v and isinstance(value, bool) == isinstance(v, bool) for v in values)


def _not_positive(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value <= 0


def _negative(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and value < 0


def _yes(name: str, origin: Origin, note: str) -> Parameter:
    return Parameter(name=name, origin=origin, status="supported", note=note)


def _drop(name: str, origin: Origin, note: str) -> Parameter:
    return Parameter(name=name, origin=origin, status="dropped", note=note)


def _no(
    name: str,
    origin: Origin,
    note: str,
    harmless: Callable[[Any], bool] = lambda _value: False,
    shown: str = "null",
) -> Parameter:
    return Parameter(
        name=name, origin=origin, status="refused", note=note, harmless=harmless, harmless_text=shown
    )


_O: Origin = "OpenAI"
_L: Origin = "llama.cpp"
_X: Origin = "other"

PARAMETERS: tuple[Parameter, ...] = (
    # What is asked
    _yes("model", _O, "An installed model's id; absent takes `[models] generative`."),
    _yes("messages", _O, "Text in every legal shape; images, audio and files are a 400."),
    _yes("stream", _O, "True answers with server-sent events."),
    _yes("stream_options", _O, "`include_usage` adds a last chunk with usage and no choices."),
    _yes("n", _O, "1 to 8 choices, made one after the other; a seed counts up with the index."),
    _yes("user", _O, "Tells clients apart for fair queueing when no key does."),
    # How long
    _yes("max_tokens", _O, "At least 1; -1, null or absent is to the end of the window."),
    _yes("max_completion_tokens", _O, "The same; both with different values are a 400."),
    _yes("n_predict", _L, "The same; different values are a 400."),
    _yes("stop", _O, "A string or up to 64 strings; empty ones are skipped."),
    _yes("ignore_eos", _L, "Bans the tokens that end a turn."),
    # How the next token is chosen
    _yes("temperature", _O, "0 to 100; 0 is greedy."),
    _yes("top_p", _O, "0 to 1."),
    _yes("top_k", _L, "0 or -1 is off."),
    _yes("min_p", _L, "0 to 1."),
    _yes("typical_p", _L, "0 to 1; 1 is off."),
    _yes("seed", _O, "Taken modulo 2^32; -1 and 4294967295 are random."),
    _yes("presence_penalty", _O, "-100 to 100."),
    _yes("frequency_penalty", _O, "-100 to 100."),
    _yes("repeat_penalty", _L, "Above 0, up to 100; 1 is off."),
    _yes("repeat_last_n", _L, "Tokens that the penalties look back on; 0 is off."),
    _yes("logit_bias", _O, "Object or pairs, by token id or by text; `false` bans."),
    _yes("logprobs", _O, "Log-probabilities of the content's tokens."),
    _yes("top_logprobs", _O, "0 to 20, with `logprobs`."),
    # Tools and form
    _yes("tools", _O, "Functions only; at most 128, bounded by `[serve] max_client_tool_bytes`."),
    _yes("tool_choice", _O, "`auto`, `none`, `required` or one function by name."),
    _yes("parallel_tool_calls", _O, "False lets the model make one call a turn."),
    _yes("response_format", _O, "`text`, `json_object` (with `schema`) or `json_schema`."),
    _yes("json_schema", _L, "The same as a `json_schema` response format."),
    # Thinking and the template
    _yes("reasoning_effort", _O, "`none` switches thinking off; other values go to the template."),
    _yes("reasoning_format", _L, "`auto` and `deepseek` separate thoughts; `none` leaves them."),
    _yes("reasoning_control", _L, "Lets `/v1/chat/completions/control` end a thought."),
    _yes("reasoning_budget_tokens", _L, "Most tokens of a thought; -1 is no limit."),
    _yes("thinking_budget_tokens", _L, "The same under its other name."),
    _yes("reasoning_budget_message", _L, "Text put before the end of a thought that ran out."),
    _yes("enable_thinking", _X, "The same as in `chat_template_kwargs`."),
    _yes("chat_template_kwargs", _L, "Variables for the model's template."),
    _yes("add_generation_prompt", _L, "False only to continue a last assistant message."),
    _yes("continue_final_message", _L, "Continue the last assistant message; false answers it."),
    # Cache and progress
    _yes("cache_prompt", _L, "False evaluates the whole prompt anew."),
    _yes("id_slot", _L, "Pins a session; -1 takes the one with the longest usable prefix."),
    _yes("return_progress", _L, "Streams `prompt_progress` and `queued` events."),
    _yes("timings_per_token", _L, "Puts `timings` on every chunk."),
    _yes("sse_ping_interval", _L, "Seconds between comments; 0 or less stops them."),
    # Dropped: no promise depends on them
    _drop("metadata", _O, "Notes for a store of completions; there is none."),
    _drop("service_tier", _O, "There is one tier, and it is this machine."),
    _drop("prediction", _O, "A hint for speed; the answer does not depend on it."),
    _drop("prompt_cache_key", _O, "Prefixes are found by their tokens."),
    _drop("prompt_cache_retention", _O, "Prefixes are kept while they fit."),
    _drop("safety_identifier", _O, "Nobody reads it here."),
    _drop("n_keep", _L, "Only matters when a window is shifted, which is never done."),
    _drop("n_discard", _L, "Only matters when a window is shifted, which is never done."),
    _drop("n_cache_reuse", _L, "Permits approximate reuse; reuse here is exact."),
    _drop("dynatemp_exponent", _L, "Without `dynatemp_range` it has no effect."),
    _drop("xtc_threshold", _L, "Without `xtc_probability` it has no effect."),
    _drop("dry_base", _L, "Without `dry_multiplier` it has no effect."),
    _drop("dry_allowed_length", _L, "Without `dry_multiplier` it has no effect."),
    _drop("dry_penalty_last_n", _L, "Without `dry_multiplier` it has no effect."),
    _drop("dry_sequence_breakers", _L, "Without `dry_multiplier` it has no effect."),
    _drop("mirostat_tau", _L, "Without `mirostat` it has no effect."),
    _drop("mirostat_eta", _L, "Without `mirostat` it has no effect."),
    _drop("adaptive_decay", _L, "Without `adaptive_target` it has no effect."),
    _drop("keep_alive", _X, "Models stay loaded while they fit; `[serve] sleep_idle_s` unloads."),
    # Refused: accepting them would be untrue
    _no("store", _O, "nothing is stored, so it could not be fetched later.", _is(False), "false"),
    _no("modalities", _O, "answers are text.", _is(["text"]), '`["text"]`'),
    _no("audio", _O, "answers are text."),
    _no(
        "verbosity",
        _O,
        "nothing would make the answer so; say it in the prompt.",
        _is("medium"),
        '`"medium"`',
    ),
    _no("web_search_options", _O, "nothing here reaches the network."),
    _no("functions", _O, "it is the old form of `tools`; send `tools`.", _is([]), "`[]`"),
    _no(
        "function_call",
        _O,
        "it is the old form of `tool_choice`; send `tool_choice`.",
        _is("auto", "none"),
        '`"auto"`, `"none"`',
    ),
    _no("dynatemp_range", _L, "temperature is fixed within a request.", _is(0), "0"),
    _no("top_n_sigma", _L, "this sampler is not here.", _not_positive, "0 or less"),
    _no("xtc_probability", _L, "this sampler is not here.", _is(0), "0"),
    _no("dry_multiplier", _L, "this sampler is not here; `repeat_penalty` is.", _is(0), "0"),
    _no("mirostat", _L, "this sampler is not here.", _is(0), "0"),
    _no("adaptive_target", _L, "this sampler is not here.", _negative, "less than 0"),
    _no("samplers", _L, "their order is fixed.", _is([]), "`[]`"),
    _no("min_keep", _L, "samplers keep at least one token.", _is(0, 1), "0, 1"),
    _no("n_probs", _L, "send `logprobs` and `top_logprobs`.", _is(0), "0"),
    _no("post_sampling_probs", _L, "log-probabilities are those before sampling.", _is(False), "false"),
    _no("grammar", _L, "GBNF is not read; send a `json_schema` response format.", _is(""), '`""`'),
    _no("grammar_lazy", _L, "GBNF is not read.", _is(False), "false"),
    _no("grammar_triggers", _L, "GBNF is not read.", _is([]), "`[]`"),
    _no("lora", _L, "no adapters are loaded.", _is([]), "`[]`"),
    _no("n_indent", _L, "output is not cut by indentation.", _is(0), "0"),
    _no(
        "t_max_predict_ms",
        _L,
        "there is no limit in time per request; `max_tokens` is one.",
        _not_positive,
        "0 or less",
    ),
    _no("return_tokens", _L, "token ids are not sent; `logprobs` has them.", _is(False), "false"),
    _no("verbose", _L, "the rendered prompt is had from `/apply-template`.", _is(False), "false"),
    _no("echo", _L, "the prompt is not repeated in the answer.", _is(False), "false"),
    _no("parse_tool_calls", _L, "tool calls are always parsed.", _is(True), "true"),
    _no("best_of", _X, "choices are not ranked; send `n`.", _is(1), "1"),
    _no("use_beam_search", _X, "there is no beam search.", _is(False), "false"),
    _no("length_penalty", _X, "there is no beam search.", _is(1), "1"),
    _no("repetition_penalty", _X, "send `repeat_penalty`.", _is(1), "1"),
    _no("min_tokens", _X, "an answer has no least length.", _is(0), "0"),
    _no("stop_token_ids", _X, "send `stop` as text.", _is([]), "`[]`"),
    _no("bad_words", _X, "send `logit_bias` with `false`.", _is([]), "`[]`"),
    _no("allowed_token_ids", _X, "send a `json_schema` response format or `logit_bias`."),
    _no("include_stop_str_in_output", _X, "a stop string is never part of the answer.", _is(False), "false"),
    _no("skip_special_tokens", _X, "control tokens are never part of the answer.", _is(True), "true"),
    _no("truncate_prompt_tokens", _X, "prompts are never cut; one that does not fit is a 400."),
    _no("chat_template", _X, "the model's own template is used."),
    _no("documents", _X, "put them into the messages.", _is([]), "`[]`"),
    _no("guided_json", _X, "send a `json_schema` response format."),
    _no("guided_regex", _X, "send a `json_schema` response format with a `pattern`."),
    _no("guided_choice", _X, "send a `json_schema` response format with an `enum`."),
    _no("guided_grammar", _X, "GBNF is not read; send a `json_schema` response format."),
    _no("structured_outputs", _X, "send a `json_schema` response format."),
    _no("format", _X, "send `response_format`."),
    _no("options", _X, "put its fields beside `messages`.", _is({}), "`{}`"),
    _no("think", _X, "send `reasoning_effort` or `enable_thinking`."),
    _no("thinking", _X, "send `reasoning_budget_tokens` or `enable_thinking`."),
    _no("max_output_tokens", _X, "send `max_tokens`."),
    _no("input", _O, "it belongs to another API; send `messages`."),
    _no("prompt", _O, "it belongs to another API; send `messages`."),
    _no("previous_response_id", _O, "nothing is stored; send the whole conversation."),
)

BY_NAME: Mapping[str, Parameter] = {row.name: row for row in PARAMETERS}

"""The naive path: a prompt and a greedy loop over llama.cpp's C API, with nothing around it.

    python benchmarks/bare_loop.py MODEL.gguf PROMPT_TOKENS GENERATED_TOKENS THREADS

Prints one line of JSON: milliseconds of prefill and of decode. The yardstick of `serving.py`.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time

import llama_cpp as C  # noqa: N812


def main() -> None:
    path, prompt_tokens, generated, threads = sys.argv[1], *map(int, sys.argv[2:5])
    quiet = C.llama_log_callback(lambda *_: None)
    C.llama_log_set(quiet, ctypes.c_void_p(0))
    C.llama_backend_init()
    model = C.llama_model_load_from_file(path.encode(), C.llama_model_default_params())
    params = C.llama_context_default_params()
    params.n_ctx = prompt_tokens + generated + 64
    params.n_threads = params.n_threads_batch = threads
    context = C.llama_init_from_model(model, params)
    vocabulary = C.llama_model_get_vocab(model)
    sampler = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
    C.llama_sampler_chain_add(sampler, C.llama_sampler_init_greedy())
    tokens = tokenise(vocabulary, prompt_tokens)
    began = time.perf_counter()
    for start in range(0, len(tokens), params.n_batch):
        part = tokens[start : start + params.n_batch]
        array = (C.llama_token * len(part))(*part)
        assert C.llama_decode(context, C.llama_batch_get_one(array, len(part))) == 0
    token = C.llama_sampler_sample(sampler, context, -1)
    prefilled = time.perf_counter()
    one = (C.llama_token * 1)()
    for _ in range(generated - 1):
        one[0] = token
        assert C.llama_decode(context, C.llama_batch_get_one(one, 1)) == 0
        token = C.llama_sampler_sample(sampler, context, -1)
    ended = time.perf_counter()
    print(json.dumps({"prefill_ms": (prefilled - began) * 1000, "decode_ms": (ended - prefilled) * 1000}))


def tokenise(vocabulary: C.llama_vocab_p, count: int) -> list[int]:
    text = (" word and another" * count).encode()
    array = (C.llama_token * (4 * count))()
    found = C.llama_tokenize(vocabulary, text, len(text), array, len(array), False, False)
    assert found >= count
    return list(array[:count])


if __name__ == "__main__":
    main()

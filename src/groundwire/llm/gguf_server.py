"""The process that `gguf.py` starts: `python -m groundwire.llm.gguf_server MODEL CONTEXT SLOTS THREADS`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import xllamacpp


def serve(path: str, context_tokens: int, slots: int, threads: int) -> None:
    """Serve the model until standard input closes."""
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = [Path(path).name.partition(".")[0]]  # hides the local path
    params.n_ctx = context_tokens * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.warmup = params.ui = False
    params.verbosity, params.cache_ram_mib = 1, 256
    server = xllamacpp.Server(params)
    print(f"listening {server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)  # joining the native threads could take long


if __name__ == "__main__":
    serve(sys.argv[1], *(int(number) for number in sys.argv[2:5]))

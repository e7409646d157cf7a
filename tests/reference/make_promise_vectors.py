"""Vectors of the shuffle model's promise, for tests/vectors/promises.json; `make_vectors.py` writes them."""

import json
import runpy
from pathlib import Path

HERE = Path(__file__).parent
Promise = runpy.run_path(str(HERE / "promise_reference.py"))
Shuffle = runpy.run_path(str(HERE / "make_shuffle_vectors.py"))


def amplified():
    for epsilon, local_epsilon, people in (
        (0.5, 1.0, 1), (0.5, 1.0, 60), (0.25, 1.0, 300), (0.5, 2.0, 300), (1.0, 4.0, 600), (1.0, 8.0, 600),
        (1.0, 1.0, 5),
    ):  # fmt: skip
        delta = float(Promise["amplified"](epsilon, local_epsilon, people))
        yield {"epsilon": epsilon, "local_epsilon": local_epsilon, "minimum_batch": people, "delta": delta}


def vector_sums():
    for name, (content, _) in Shuffle["SUMS"].items():
        less = {} if name == "a column" else {"noise_parts": 27000}  # so that the noise's part shows
        text = Shuffle["canonical"]({**content, "parameters": {**content["parameters"], **less}})
        plan = json.loads(text)
        rows = Shuffle["VectorSums"](text).rows
        noise = Promise["renyi"](plan["parameters"], plan["epsilon"], rows)
        shares = Promise["mixing"](plan["parameters"], plan["epsilon"])
        # Nine digits: libraries differ in the last ones.
        yield {"name": name, "plan": text, "noise": float(f"{noise:.9g}"), "shares": float(f"{shares:.9g}")}


def sections():
    return {"amplified": amplified(), "vector_sums": vector_sums()}

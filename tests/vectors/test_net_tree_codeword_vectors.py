"""Golden net-tree reports of layout 2, made by a reference in plain Python, byte for byte.

`net_tree_codeword.json` is what clients in other languages check themselves against. It never changes for
layout 2; to add cases, run this file as a script.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from coterie.geometry.ball import SCALE, quantize
from coterie.plan import Plan
from coterie.protocols.paper.net_tree.encode_codeword import CodewordTreeEncoder
from coterie.protocols.paper.nets.nets import NetFamily
from coterie.protocols.paper.nets.projection import Projection

FILE = Path(__file__).with_name("net_tree_codeword.json")
_PLACE = Path(__file__).parents[1] / "reference" / "net_tree_codeword_reference.py"
_SPEC = importlib.util.spec_from_file_location("net_tree_codeword_reference", _PLACE)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

STUDIES = [
    {"dimension": 2, "clusters": 3, "epsilon": 1.0, "levels": 4},
    {"dimension": 5, "clusters": 2, "epsilon": 2.0, "levels": 2, "ratio": 3, "center": [1.0, 0, 0, 0, -2.0],
     "radius": 3.0, "projected": 5},
    {"dimension": 40, "clusters": 8, "epsilon": 4.0, "levels": 3, "projected": 6},
]  # fmt: skip


class OneDraw:
    def __init__(self, draw):
        self.draw = draw

    def below_many(self, bound, size):
        assert self.draw < bound
        return np.array([self.draw] * size, dtype=np.int64)


def path_of(plan, quantized):
    parameters = plan.parameters
    nets = NetFamily.from_key(
        plan.randomness_key("net"), parameters.projected, parameters.levels, parameters.ratio
    )
    projection = Projection.from_key(
        plan.randomness_key("subspace"), plan.dimension, parameters.projected, parameters.scale
    )
    return nets.paths(nets.representatives(projection.apply(quantized / SCALE)[0]))[0].tolist()


def by_reference(plan, point, identity, draws):
    quantized, _ = quantize(np.array([point]), plan.center, plan.radius)
    document = json.loads(plan.to_json())
    ranked = reference.order(
        document, plan.randomness_key(), identity, path_of(plan, quantized), [int(x) for x in quantized[0]]
    )
    return [identity.hex() + f"{reference.index_of(document, ranked, draw):02x}" for draw in draws]


def make():
    studies = []
    for number, study in enumerate(STUDIES):
        plan = Plan.design(
            expected_users=10_000, protocol="net-tree", randomizer="codeword", seed=number, **study
        )
        law, generator, cases = plan.parameters.randomizer, np.random.default_rng(number), []
        for case in range(4):
            point = np.round(generator.normal(0, (0.4, 1.0)[case % 2], plan.dimension), 6)
            point = (point + (0 if plan.center is None else np.array(plan.center))).tolist()
            identity = generator.bytes(12)
            edge = law.cap * law.odds
            draws = [0, law.odds, edge - 1, edge, law.total - 1, int(generator.integers(law.total))]
            reports = by_reference(plan, point, identity, draws)
            cases.append({"point": point, "id": identity.hex(), "draws": draws, "reports": reports})
        studies.append({"plan": plan.to_json(), "cases": cases})
    return {
        "format": "coterie-vectors",
        "protocol": "net-tree",
        "layout": 2,
        "version": 1,
        "studies": studies,
    }


VECTORS = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"studies": []}


@pytest.mark.parametrize("study", VECTORS["studies"])
def test_reports_are_the_golden_ones(study):
    plan = Plan.from_json(study["plan"])
    assert plan.to_json() == study["plan"]
    encoder = CodewordTreeEncoder(plan)
    for case in study["cases"]:
        identity = bytes.fromhex(case["id"])
        ids = np.frombuffer(identity, dtype=np.uint8)[None]
        found = [
            encoder.encode([case["point"]], ids, OneDraw(draw)).tobytes().hex() for draw in case["draws"]
        ]
        assert found == case["reports"]
        assert by_reference(plan, case["point"], identity, case["draws"]) == case["reports"]


def test_there_are_vectors():
    assert len(VECTORS["studies"]) == len(STUDIES)


if __name__ == "__main__":
    FILE.write_text(json.dumps(make(), indent=1) + "\n", encoding="utf-8")

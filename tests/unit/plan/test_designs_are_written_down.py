"""Designs as they are: what was chosen by measuring changes with a new measurement, never by accident.

Each line is a study and the parameters that its design chose, by their SHA-256. Whoever changes a design on
purpose runs `python -m benchmarks tuning` first and writes the new line down.
"""

import hashlib

import pytest

from coterie import Plan
from coterie.plain.canonical import canonical_bytes
from tests.plans import is_there

SHUFFLE = {"model": "shuffle", "delta": 1e-6}
CENTRAL = {"model": "central", "delta": 1e-6}
SUMS, TREE_SUMS = {"protocol": "vector-sums"}, {"protocol": "net-tree-sums"}
TREE, LSH = {"protocol": "net-tree"}, {"protocol": "lsh-tree"}
DESIGNS = [  # d, k, ε, n, options, what was chosen
    (2, 3, 1.0, 10_000, {}, "df347e23a98ee6aa"),
    (12, 4, 1.0, 100_000, {}, "edabd353d90b0928"),
    (13, 4, 2.0, 100_000, {}, "a8b27717fee899d7"),
    (100, 8, 1.0, 1_000_000, {}, "4d9bad8bfe99055d"),
    (100, 8, 7.0, 1_000_000, {}, "dd7052c090b66f65"),
    (100, 8, 14.0, 1_000_000, {}, "3644fe06901f6985"),
    (1000, 8, 1.0, 1_000_000, {}, "e67c9188980cdfeb"),
    (3000, 8, 8.0, 10_000_000, {}, "2bb85f3b02703e6b"),
    (100, 32, 1.0, 200_000, {"shape": "tight"}, "4ab3ddd3e5119200"),
    (100, 16, 1.0, 300_000, {"shape": "tight"}, "73b094eef111a20f"),
    (100, 8, 1.0, 10_000_000, {"shape": "tight"}, "4d9bad8bfe99055d"),
    (300, 64, 1.0, 1_000_000, {"shape": "tight"}, "3abef45c15057b47"),
    (20, 4, 1.0, 20_000, SHUFFLE, "abd3ba604f2bde81"),
    (20, 4, 0.5, 1_000_000, SHUFFLE | {"minimum_batch": 500_000}, "9ad2698f93811813"),
    (20, 4, 1.0, 1_000_000, SHUFFLE | {"local_cap": 3.0}, "cb8d75837190a42c"),
    (2, 3, 1.0, 1_000, SUMS | SHUFFLE, "0b1b081c517e3dd8"),
    (20, 4, 1.0, 20_000, SUMS | SHUFFLE, "e018a7b2a200028a"),
    (20, 4, 4.0, 20_000, SUMS | SHUFFLE | {"layout": "column"}, "b0f89eeae16ff9cd"),
    (3, 2, 1.0, 2_000_000, SUMS | SHUFFLE | {"layout": "column"}, "5f1791ffb81db769"),
    (2, 3, 1.0, 200, SUMS | SHUFFLE | {"layout": "hashed"}, "b9a64a3883da2619"),
    (2, 3, 1.0, 200, SUMS | SHUFFLE | {"layout": "hashed", "failure": 0.5}, "096d8324fc586531"),
    (20, 4, 1.0, 20_000, SUMS | CENTRAL, "447031dc0e6776e7"),
    (2, 3, 16.0, 50, SUMS | CENTRAL, "00efaf5f095b4697"),
    (2, 3, 0.01, 1_000, SUMS | SHUFFLE, "9ec3280f0cf2d80e"),
    (3, 4, 1.0, 5_000, TREE_SUMS | SHUFFLE, "c234983f176ccd8a"),
    (20, 4, 1.0, 200_000, TREE_SUMS | SHUFFLE, "9f9a16dba89edfbf"),
    (20, 4, 1.0, 200_000, TREE_SUMS | CENTRAL, "2086a8a0756aed8d"),
    (3, 4, 1.0, 5_000, TREE_SUMS | SHUFFLE | {"beta": 0.4, "levels": 2}, "dd1d15af03bfade7"),
    (2, 4, 1.0, 200_000, TREE, "62557b9da6996c98"),
    (100, 8, 4.0, 200_000, TREE, "a7a27294f267f341"),
    (100, 8, 4.0, 2_000_000_000, TREE, "ec41d0c27e7e85ee"),
    (6, 8, 4.0, 10_000_000, TREE, "cc68d81915ee47b2"),
    (2, 4, 1.0, 200_000, TREE | {"constants": "theory"}, "35451795db02f873"),
    (2, 4, 1.0, 200_000, TREE | {"ratio": 3, "shrink": 2.5}, "e625fd8c31819e90"),
    (100, 8, 1.0, 1_000_000, TREE | {"randomizer": "codeword"}, "e7bb05b098c4d94d"),
    (7, 8, 14.0, 100_000_000, TREE | {"randomizer": "codeword"}, "abf98aae726b236f"),
    (100, 8, 1.0, 1_000_000, LSH, "c1e050339643e649"),
    (20, 5, 2.0, 1_000, LSH | {"split": "budget"}, "92d95836c8409948"),
    (20, 5, 2.0, 1_000, LSH | {"count": "joint", "split": "deepest"}, "723113ffe067e7a5"),
    (20, 5, 2.0, 1_000, LSH | {"randomizer": "privunit"}, "e9829f655d4d36f9"),
    (20, 5, 7.0, 1_000, LSH | {"randomizer": "privunit", "count": "joint"}, "d210e702f49218e8"),
]


def chosen(dimension, clusters, epsilon, users, options):
    plan = Plan.design(dimension, clusters, epsilon, users, **options)
    return hashlib.sha256(canonical_bytes(plan.parameters.to_dict())).hexdigest()[:16]


@pytest.mark.parametrize(("study", "digest"), [(line[:5], line[5]) for line in DESIGNS if is_there(line[4])])
def test_a_design_is_the_one_written_down(study, digest):
    assert chosen(*study) == digest

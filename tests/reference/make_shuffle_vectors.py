"""Vectors of the shuffle model, for tests/vectors/shuffle.json; `make_vectors.py` writes them.

`codeword`: a batch of reports, the shuffled file and the record of the batch. `vector_sums`: cases with the
secret draws (`noise`, `free` shares) given, the messages of all of them mixed, and the table.
"""

import runpy
from pathlib import Path

HERE = Path(__file__).parent
Files = runpy.run_path(str(HERE / "files_reference.py"))
Codeword = runpy.run_path(str(HERE / "make_vectors.py"))
VectorSums = runpy.run_path(str(HERE / "shuffle_reference.py"))["VectorSums"]
Reference, plan = Codeword["Reference"], Codeword["plan"]
net, halfspaces, report_id = Codeword["net"], Codeword["halfspaces"], Codeword["report_id"]
cross_polytope, sealed = Codeword["cross_polytope"], Files["sealed"]


def canonical(value):
    """As for `codeword`; Python writes 10⁻⁶ in another way than ECMAScript."""
    return Codeword["canonical"](value).replace("1e-06", "0.000001")


def amplified(local_epsilon=2, minimum_batch=2000, **parameters):
    """A codeword plan whose reports keep ε₀, and (1, 10⁻⁶) in a batch of so many."""
    content = plan(
        3,
        [cross_polytope(4)],
        epsilon=local_epsilon,
        cap=55,
        model="shuffle",
        delta=1e-06,
        expected_users=5000,
    )
    more = {"local_epsilon": local_epsilon, "minimum_batch": minimum_batch, **parameters}
    return {**content, "epsilon": 1, "parameters": {**content["parameters"], **more}}


def vector_sums(layout, views, **changes):
    parameters = {
        "layout": layout, "coordinates": 4, "views": views, "buckets": 0, "grid_bits": 12,
        "count_weight": 734003, "noise": "everyone", "noise_parts": 190341, "minimum_batch": 1800,
        "group": 64, "modulus": 4222759, "shares": 16, **changes,
    }  # fmt: skip
    content = plan(2, [], model="shuffle", delta=0.001, expected_users=2000)
    return {**content, "protocol": "vector-sums", "parameters": parameters}


CORNERS = net((-506854, 14302), (-47895, -651736), (698462, 83068), (41988, 695779))
POINTS = [[0.5, -0.25], [0, 0], [-3, 4]]
HALF = (1 << 20) // 2

# name: plan, points
SUMS = {
    "cells": (vector_sums("cells", [CORNERS]), POINTS),
    "hashed cells": (vector_sums("hashed", [CORNERS], buckets=3), POINTS),
    "a column": (
        vector_sums("column", [halfspaces(0, 64 * HALF, weight=3), net((0, 0), (HALF, HALF))]),
        [*POINTS, [0.3, 0.3], [-0.9, -0.1], [0.1, 0.2]],
    ),
}  # fmt: skip


def batches():
    """Report files of an amplified plan, and what a shuffler makes of them.

    The promise of these plans is kept by each report alone (ε₀ = ε), so that two people are a batch.
    """
    content = amplified(local_epsilon=1, minimum_batch=2, cap=89)
    text = canonical(content)
    reference = Reference(text)
    draws = [0, 4058862888, 6860657960]
    reports = [
        bytes.fromhex(reference.steps(point, report_id("batch", i), draws[i])["report"])
        for i, point in enumerate([[0.1, -0.2, 0.3], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    ]
    released, record = Files["released_file"](reference.plan_id, reports)
    files = [[reports[2], reports[0]], [reports[1], reports[0]]]  # one of them again
    shuffled = Files["report_file"](reference.plan_id, 13, sorted(reports), magic=Files["SHUFFLED"])
    yield {
        "plan": text, "plan_id": reference.plan_id.hex(),
        "report_files": [Files["report_file"](reference.plan_id, 13, one).hex() for one in files],
        "shuffled_file": shuffled.hex(), "released_name": released, "released_file": record.hex(),
    }  # fmt: skip


def bad_batches():
    """Files that a table of the shuffle model must refuse."""
    content = amplified(local_epsilon=1, minimum_batch=2, cap=89)
    text = canonical(content)
    reference = Reference(text)
    rows = [report_id("batch", i) + b"\7" for i in range(2)]
    good = Files["report_file"](reference.plan_id, 13, sorted(rows), magic=Files["SHUFFLED"])
    body = good[:-32]
    for name, data in {
        "a report file": Files["report_file"](reference.plan_id, 13, sorted(rows)),
        "a bit flipped": good[:70] + bytes([good[70] ^ 1]) + good[71:],
        "another plan": Files["report_file"](bytes(32), 13, sorted(rows), magic=Files["SHUFFLED"]),
        "a byte short": good[:-1],
        "a later version": sealed(body[:16] + b"\0\2" + body[18:]),
    }.items():
        yield {"name": name, "plan": text, "file": data.hex()}


def sums():
    for name, (content, points) in SUMS.items():
        text = canonical(content)
        reference = VectorSums(text)
        modulus, cases, messages = reference.modulus, [], []
        for i, point in enumerate(points):
            identity = report_id(name, i)
            known = reference.contribution([float(x) for x in point], identity)
            values = len(reference.served(known["row"])) * reference.width
            noise = [(7919 * (j + 1) * (i + 3)) % 12001 - 6000 for j in range(values)]
            free = [
                (1103515245 * (j + 1) + 12345 * i) % modulus for j in range(values * (reference.shares - 1))
            ]
            free[:2] = [0, modulus - 1]
            shares = reference.split(known["row"], known["vector"], noise, free)
            messages += reference.messages(known["row"], shares)
            report = reference.report(identity, shares)
            cases.append(
                {
                    "point": point,
                    "id": identity.hex(),
                    **known,
                    "noise": noise,
                    "free": free,
                    "report": report.hex(),
                }
            )
        added, counts = reference.sums(messages)
        in_order = sorted(messages)
        shuffled = Files["report_file"](
            reference.plan_id, 4 + reference.share_bytes, in_order, magic=Files["SHUFFLED"]
        )
        table = Files["table_file"](text, [added, counts])
        yield {
            "name": name, "plan": text, "plan_id": reference.plan_id.hex(), "cases": cases,
            "shuffled_file": shuffled.hex(), "sums": added, "messages": counts, "table_file": table.hex(),
        }  # fmt: skip


def bad_messages():
    """Messages that no shuffler of the plan `cells` can have released."""
    text = canonical(SUMS["cells"][0])
    modulus = SUMS["cells"][0]["parameters"]["modulus"]
    for name, data in {
        "an address outside the table": (16).to_bytes(4, "big") + bytes(3),
        "a share outside the field": bytes(4) + modulus.to_bytes(3, "big"),
        "a byte short": bytes(6),
        "a good message and a bad one": bytes(7) + bytes(4) + b"\xff\xff\xff",
    }.items():
        yield {"name": name, "plan": text, "messages": data.hex()}


def bad_plans():
    good = canonical(amplified())

    def edited(content, **changes):
        return canonical({**content, **changes})

    def parameters(content, **changes):
        return canonical({**content, "parameters": {**content["parameters"], **changes}})

    cells = SUMS["cells"][0]
    local = {key: value for key, value in amplified()["parameters"].items() if key != "local_epsilon"}
    for name, text in {
        "odds one above e^ε₀·2^24": parameters(amplified(), odds=123967791),
        "a batch too small to hide in": parameters(amplified(), minimum_batch=100),
        "a batch larger than the study": parameters(amplified(), minimum_batch=5001),
        "no local epsilon": canonical({**amplified(), "parameters": local}),
        "delta 0": edited(amplified(), delta=0),
        "delta 1": edited(amplified(), delta=1),
        "delta above a hundredth": edited(amplified(), delta=0.011),
        "delta below 10^-30": good.replace('"delta":0.000001', '"delta":1e-31'),
        "tokens": edited(amplified(), ids="token"),
        "the local model": edited(amplified(), model="local", delta=0),
        "too little noise": parameters(cells, noise_parts=9000),
        "too few shares": parameters(cells, shares=8),
        "a modulus that is no prime": parameters(cells, modulus=4222757),
        "coordinates of another dimension": parameters(cells, coordinates=5),
        "a group larger than the batch": parameters(cells, group=1801),
        "buckets without hashing": parameters(cells, buckets=4),
        "hashing without buckets": parameters(SUMS["hashed cells"][0], buckets=0),
        "cells of halfspaces": parameters(cells, views=[halfspaces(0, 0)]),
        "cells of two views": parameters(cells, views=[CORNERS, CORNERS]),
        "an unknown layout": parameters(cells, layout="rows"),
        "a curator in the shuffle model": parameters(cells, noise="curator"),
    }.items():
        yield {"name": name, "plan": text}


def sections():
    return {
        "codeword": batches(), "bad_shuffled_files": bad_batches(), "vector_sums": sums(),
        "bad_messages": bad_messages(), "bad_plans": bad_plans(),
    }  # fmt: skip

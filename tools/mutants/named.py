"""Mutants with a name: promises that once no test held, with the tests that hold them now.

All of them must be noticed. A piece of text that no longer stands in its room is an error, too: the promise
has moved, and its mutant must follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Named:
    """A change of text that breaks a promise."""

    promise: str
    room: str
    before: str  # stands somewhere in the room
    after: str
    tests: tuple[str, ...]  # what pytest is asked to run

    def changed(self, package: Path) -> dict[Path, str]:
        """Return the changed files, whole, by their path in the package; ValueError if there are none."""
        texts = {path: path.read_text(encoding="utf-8") for path in (package / self.room).rglob("*.py")}
        found = {
            path.relative_to(package): text.replace(self.before, self.after)
            for path, text in texts.items()
            if self.before in text
        }
        if not found:
            raise ValueError(f"{self.before!r} stands nowhere in {self.room}: {self.promise}")
        return found


_PROMISES = ("tests/privacy/test_shuffle_promises.py",)
_SHUFFLER = ("tests/service/test_shuffler.py",)
_LIMITS = ("tests/service/test_limits.py",)
_SERVICE_PRIVACY = ("tests/service/test_service_privacy.py",)
_MANIFEST = ("tests/service/test_manifest.py",)
_SOLVE = ("tests/unit/centers/test_solve.py",)
_NET_TREE = ("tests/unit/protocols/paper/net_tree/test_parameters.py",)
_TREE_SUMS = ("tests/unit/protocols/paper/net_tree_sums/test_parameters.py",)
_EXPLAIN = ("tests/unit/centers/test_explain.py",)
_DECODER = ("tests/unit/centers",)
_BLOBS = ("tests/unit/centers/test_blobs.py",)

NAMED = (
    Named(
        "all answers of a report count against epsilon, not the first alone",
        "protocols",
        "if not product_allowed(odds, epsilon):",
        "if not product_allowed(odds[:1], epsilon):",
        ("tests/unit/protocols/paper/lsh_tree/test_parameters.py",),
    ),
    Named(
        "a row is released with the plan's group of people, not with one",
        "protocols",
        "if smallest < parameters.group:",
        "if smallest < 1:",
        _PROMISES,
    ),
    Named(
        "the influence covers a change of cell where points count little (b > 0.707)",
        "protocols",
        "max(bodies, 2 * grid_squared)",
        "bodies",
        _PROMISES,
    ),
    Named(
        "the shares' part of delta is paid in full",
        "protocols",
        "float(self.touched * ",
        "float(self.touched / 2 * ",
        _PROMISES,
    ),
    Named(
        "an amplified plan keeps its own delta, not twice that",
        "protocols",
        "target=delta) > delta:",
        "target=delta) > 2 * delta:",
        _PROMISES,
    ),
    Named(
        "a vector is rounded towards zero, so that no length grows",
        "protocols",
        "np.trunc(",
        "np.floor(",
        ("tests/paper/test_errata.py", "-k", "e7"),
    ),
    Named(
        "centers and amounts settle together",
        "centers",
        "problem.swap(problem.settle(problem.state_of(holdings)), kept, points)",
        "problem.swap(problem.state_of(holdings), kept, points)",
        _SOLVE,
    ),
    Named(
        "a center moves to where a cell is badly explained",
        "centers",
        "problem.swap(problem.settle(problem.state_of(holdings)), kept, points)",
        "problem.settle(problem.state_of(holdings))",
        _SOLVE,
    ),
    Named(
        "centers are shrunk in the subspace they lie in",
        "protocols",
        "directions = None if moment is None else signal_subspace(moment, table.plan.dimension)",
        "directions = None",
        _SOLVE,
    ),
    Named(
        "an answer that rows left out do not side with is the mean of everybody",
        "centers",
        "if not sure and not better_than_one(",
        "if False and not better_than_one(",
        (*_EXPLAIN, "-k", "one_center"),
    ),
    Named(
        "rows are believed together with what was expected of them",
        "centers",
        "(along + expected * prior) / (square + prior)",
        "along / max(square, 1e-300)",
        _EXPLAIN,
    ),
    Named(
        "the diagonal that signs hide is restored to the second moment",
        "protocols",
        "matrix = hollow + embed.T @ (diagonal[:, None] * embed)",
        "matrix = hollow",
        ("tests/unit/protocols/codeword/test_cell_sums.py",),
    ),
    Named(
        "people's points are never copied whole",
        "engines",
        "points[start : start + CHUNK]",
        "points.astype(np.float64)[start : start + CHUNK]",
        ("tests/unit/engines/test_inline.py",),
    ),
    Named(
        "a report whose public direction is the zero vector adds nothing, not NaN",
        "protocols",
        "lengths[lengths == 0] = 1.0",
        "lengths[lengths == 0] = 0.0",
        ("tests/unit/protocols/paper/net_tree/test_signs.py", "-k", "without_a_direction"),
    ),
    Named(
        "the noise of a codeword's sum is stated along the people's vectors, not on average",
        "protocols",
        "spread = 1 + randomizer.second_gain(parameters.embedding) * share",
        "spread = 1 + randomizer.second_gain(parameters.embedding) / parameters.embedding",
        ("tests/statistics/test_codeword_gain.py", "-k", "along_the_people"),
    ),
    Named(
        "the theory's scale and expansion are those of the d' that is played",
        "protocols",
        "projected = max(1, min(wanted, dimension)) if projected is None else projected",
        "projected = max(1, min(wanted, dimension))",
        (*_NET_TREE, "-k", "given_projection"),
    ),
    Named(
        "the depth of the default design grows with the people",
        "protocols",
        "while chosen < PRACTICAL_LEVELS and _center_noise(",
        "while chosen < 0 and _center_noise(",
        (*_NET_TREE, "-k", "depth_grows"),
    ),
    Named(
        "groups of a tree of codewords rarely share a cell",
        "protocols",
        "CODEWORD_RATIO: Final = 3",
        "CODEWORD_RATIO: Final = 2",
        (*_NET_TREE, "-k", "smaller_cells"),
    ),
    Named(
        "the paper's decoder to the letter has no floor",
        "protocols",
        '"strays": 0.0 if theory else tree.usual_strays',
        '"strays": tree.usual_strays',
        (*_NET_TREE, "-k", "builds_where_it_can"),
    ),
    Named(
        "the additive error takes its union over every node that could be asked about",
        "protocols",
        "failure=share, nodes=sum(by_level)",
        "failure=share, nodes=most",
        ("tests/unit/protocols/paper/test_approximation.py", "-k", "union"),
    ),
    Named(
        "the bias of codewords is part of their guarantee",
        "protocols",
        "(ratio, additive, last), bias = found, shape.bias",
        "(ratio, additive, last), bias = found, 0.0",
        ("tests/statistics/test_net_tree_codeword.py", "-k", "carries_the_bias"),
    ),
    Named(
        "Theorem 2 is claimed only where no node can share its bucket",
        "protocols",
        "proved = decoding.strays == 0 and not spoiled and",
        "proved = decoding.strays == 0 and",
        (*_TREE_SUMS, "-k", "bucket_for_everybody"),
    ),
    Named(
        "a ratio needs a projection that serves the slack and loses nobody",
        "protocols",
        "proved = proved and _inside(shape, facts, failure)",
        "proved = proved and True",
        ("tests/unit/protocols/paper/test_approximation.py", "-k", "loses_people"),
    ),
    Named(
        "a person's influence is over all levels of the tree",
        "protocols",
        "Influence(self.levels * self.cells_moved()",
        "Influence(self.cells_moved()",
        (*_TREE_SUMS, "-k", "further_than_stated"),
    ),
    Named(
        "a coreset has all of its people",
        "protocols",
        "WeightedPointSet(tree.leaf_points(), np.maximum(frequencies, 0.0))",
        "WeightedPointSet(tree.leaf_points(), np.maximum(frequencies, 0.0) / 2)",
        ("tests/paper/test_lemmas.py", "-k", "papers_constants"),
    ),
    Named(
        "local search goes on until no exchange is left",
        "protocols",
        "while since < count:",
        "while since < 1:",
        ("tests/unit/protocols/paper/test_local_search.py",),
    ),
    Named(
        "a leaf that only its count makes takes no center from people",
        "protocols",
        "clear if clear.any() else np.ones_like(clear)",
        "np.ones_like(clear)",
        ("tests/paper/test_decoder.py", "-k", "only_its_count"),
    ),
    Named(
        "sums that are drawn carry the noise of everybody",
        "protocols",
        'int(count) if parameters.noise == "everyone" else 1',
        "1",
        ("tests/statistics/test_net_tree_sums.py", "-k", "bit_for_bit"),
    ),
    Named(
        "an estimator tells its decoder what it was told",
        "estimators",
        "            **self._read_options(),\n",
        "",
        ("tests/unit/protocols/paper/net_tree/test_estimator.py", "-k", "decoders_options"),
    ),
    Named(
        "a spread is chosen with the centers integrated out",
        "centers",
        "return dimension / 2 * float(np.log(curvature).sum()), dimension * shares**2 / curvature",
        "return 0.0, 0.0 * shares**2 / curvature",
        _BLOBS,
    ),
    Named(
        "every group has a spread of its own",
        "centers",
        "return own if own.chi < best.chi - _BETTER else best",
        "return best",
        _BLOBS,
    ),
    Named(
        "what is not known of a center blurs its signs",
        "centers",
        "wide = np.sqrt(sigma**2 + errors / dimension)",
        "wide = np.sqrt(sigma**2 + 0 * errors)",
        _BLOBS,
    ),
    Named(
        "supposed groups lie where noise can hide them",
        "centers",
        "if not free or not found.hidden:",
        "if True:",
        _DECODER,
    ),
    Named(
        "a center is compared with the people nearest to it",
        "centers",
        "means = np.where(shares[:, None] > 0, sums / np.maximum(shares, 1e-300)[:, None], centers)",
        "means = centers.copy()",
        _DECODER,
    ),
    Named(
        "the radius of a small group is wider",
        "centers",
        "radii = np.minimum(wider * reach / scale, 1.0)",
        "radii = np.minimum(wider * np.full_like(scale, reach), 1.0)",
        _DECODER,
    ),
    Named(
        "a result has five notes at most",
        "centers",
        "notes=_notes(solution, tables)[:MOST_NOTES]",
        "notes=_notes(solution, tables)",
        ("tests/unit/centers/test_dress.py",),
    ),
    Named(
        "of optima that are as good, the answer is the one that most are near to",
        "centers",
        "_AS_GOOD: Final = 1.01",
        "_AS_GOOD: Final = 1.0",
        _DECODER,
    ),
    Named(
        "a group is missed only where round groups explain the rows",
        "centers",
        "return peak if ours <= theirs else 0.0",
        "return peak",
        _EXPLAIN,
    ),
    Named(
        "round groups win by no hair",
        "centers",
        "return self.sure or self.alpha > _ALL",
        "return True",
        _EXPLAIN,
    ),
    Named(
        "sure groups miss no more than noise does",
        "centers",
        "return self.round and self.apart and",
        "return self.apart and",
        _EXPLAIN,
    ),
    Named(
        "sure groups know their centers",
        "centers",
        "wide = np.sqrt(blobs.sigma**2 * blobs.centers.shape[1] + blobs.errors)",
        "wide = blobs.sigma * math.sqrt(blobs.centers.shape[1])",
        _EXPLAIN,
    ),
    Named(
        "rows left out are not against sure groups",
        "centers",
        "and self.alpha >= _EXPECTED",
        "and True",
        _EXPLAIN,
    ),
    Named(
        "threads of a decode have one OpenMP thread",
        "wire",
        '_limit_threads("openmp")  #',
        "pass  #",
        ("tests/unit/wire/test_workers.py",),
    ),
    Named(
        "how far apart centers lie is learned",
        "centers",
        "apart = float((squares + np.minimum(errors, 1.0)).mean())",
        "apart = 1.0",
        _BLOBS,
    ),
    Named(
        "a spare center is named",
        "centers",
        "return (first, second) if lost",
        "return None if lost",
        _EXPLAIN,
    ),
    Named(
        "stated radii cover what they say",
        "centers",
        'COVERAGE, method="weibull"',
        'COVERAGE / 2, method="weibull"',
        _DECODER,
    ),
    Named(
        "a shuffler releases no batch below the plan's minimum",
        "collect",
        "if len(rows) < plan.minimum_batch:",
        "if len(rows) < 1:",
        (*_SHUFFLER, "-k", "below_the_minimum"),
    ),
    Named(
        "a batch is made of reports in the order of their ids, each once",
        "collect",
        "if not in_order([rows[:, :ID_BYTES]], strictly=True):",
        "if False:",
        (*_SHUFFLER, "-k", "order_of_their_ids"),
    ),
    Named(
        "nothing is released because so many have come",
        "service",
        "self._ending.look_at(known)",
        "self._ending.is_finished(known)",
        (*_SHUFFLER, "-k", "so_many"),
    ),
    Named(
        "what was not released yet is not deleted, however late it is",
        "service",
        "state is StudyState.CLOSED and self._ending.is_finished(known) and now",
        "state is StudyState.CLOSED and now",
        (*_SHUFFLER, "-k", "however_late"),
    ),
    Named(
        "a signed result must come out of its table",
        "service",
        "    _check_digits(claimed, again, ",
        "    str(",
        (*_MANIFEST, "-k", "doctored"),
    ),
    Named(
        "a result says in words what it says in figures",
        "service",
        "        _check_words(result, stated, claimed)",
        "        pass",
        (*_MANIFEST, "-k", "words"),
    ),
    Named(
        "everybody is everybody, and not the groups that are told",
        "show",
        "everybodys_card(told.everybody, wording)",
        "everybodys_card(told.told[0].estimates if told.told else told.everybody, wording)",
        ("tests/service/test_pages.py", "-k", "everybody"),
    ),
    Named(
        "a group keeps its name, whoever else is told",
        "show",
        "card(color, group, told.everybody,",
        'card(color, __import__("dataclasses").replace(group, number=groups.index(group)), told.everybody,',
        ("tests/unit/cli/test_demo.py", "-k", "lost_groups"),
    ),
    Named(
        "a full batch takes nothing more",
        "service",
        "min(self._limits.most_reports, known.most)",
        "self._limits.most_reports",
        (*_SHUFFLER, "-k", "full_batch"),
    ),
    Named(
        "releasing is the operator's",
        "service",
        '"/plans/{plan_id}/release", "POST", operator=True)',
        '"/plans/{plan_id}/release", "POST")',
        (*_SHUFFLER, "-k", "operators"),
    ),
    Named(
        "a batch is kept until its collector has it",
        "service",
        "            attempt.refusal = str(error)\n",
        "            self.store.acknowledge_batch(plan_id, waiting.digest)\n",
        ("tests/service/test_release_model.py", "-k", "folders"),
    ),
    Named(
        "a batch on its way is not given up",
        "service",
        "if attempt is None or attempt.refusal is None:",
        "if False:",
        (*_SHUFFLER, "-k", "on_its_way"),
    ),
    Named(
        "a shuffler takes plans of the shuffle model only",
        "service",
        'if not plan.mixed:\n            raise Problem("unfit-plan", f"a shuffler',
        'if False:\n            raise Problem("unfit-plan", f"a shuffler',
        (*_SHUFFLER, "-k", "decodes_nothing"),
    ),
    Named(
        "a collector takes no report of a shuffle plan",
        "service",
        "if known.plan.model != self._model:",
        "if False:",
        (*_SHUFFLER, "-k", "no_report"),
    ),
    Named(
        "a collector takes shuffle plans only where it knows a shuffler",
        "service",
        "if plan.mixed and not self.shufflers:",
        "if False:",
        (*_SHUFFLER, "-k", "without_shufflers"),
    ),
    Named(
        "a batch is signed by a shuffler that the collector knows",
        "wire",
        "return any(is_signed(each, signature, _LABEL, _named(plan_id, digest)) for each in shufflers)",
        "return bool(shufflers)",
        (*_SHUFFLER, "-k", "whole_and_once"),
    ),
    Named(
        "the signature under a batch names its plan",
        "wire",
        "return bytes.fromhex(plan_id) + bytes.fromhex(digest)",
        "return bytes.fromhex(digest)",
        (*_SHUFFLER, "-k", "whole_and_once"),
    ),
    Named(
        "a batch has the digest that it was signed under",
        "service",
        "if hashlib.sha256(data).hexdigest() != digest:",
        "if False:",
        (*_SHUFFLER, "-k", "whole_and_once"),
    ),
    Named(
        "a collector takes no batch below the plan's minimum",
        "service",
        "if people < plan.minimum_batch or fewest",
        "if fewest",
        (*_SHUFFLER, "-k", "is_none"),
    ),
    Named(
        "a collector takes no batch with a row of too few people",
        "service",
        "fewest < plan.parameters.smallest_group:",
        "fewest < 0:",
        (*_SHUFFLER, "-k", "even_if_signed"),
    ),
    Named(
        "a collector takes no batch that is not in order",
        "service",
        "if not in_order(in_pieces(rows)):",
        "if False:",
        (*_SHUFFLER, "-k", "is_none"),
    ),
    Named(
        "one request of a connection is read at a time",
        "service",
        "if self.is_answering():",
        "if False:",
        (*_LIMITS, "-k", "whatever_follows"),
    ),
    Named(
        "who does not read is hung up on",
        "service",
        "now - self.unread_since > settings.answer_seconds",
        "False",
        (*_LIMITS, "-k", "do_not_read"),
    ),
    Named(
        "a connection that ends politely does not wait for its reader for ever",
        "service",
        "if self.transport.is_closing() and self.unread_since is None:",
        "if False:",
        (*_LIMITS, "-k", "for_ever"),
    ),
    Named(
        "an answer goes out in pieces",
        "service",
        "while len(body) - start > PIECE:",
        "while False:",
        (*_LIMITS, "-k", "in_pieces"),
    ),
    Named(
        "a table is not in memory for each of its readers",
        "service",
        "return os.pread(self._handle, PIECE, start)",
        "return os.pread(self._handle, self.size, start)",
        (*_LIMITS, "-k", "by_pieces"),
    ),
    Named(
        "readers leave connections for others",
        "service",
        "if not self._left:",
        "if False:",
        (*_LIMITS, "-k", "so_many_read"),
    ),
    Named(
        "idle connections make room",
        "service",
        "and not self._find_room():",
        "and True:",
        (*_LIMITS, "-k", "make_room"),
    ),
    Named(
        "connections at work do not make room",
        "service",
        "return math.inf if self.is_answering() else self.idle_since",
        "return self.idle_since",
        (*_LIMITS, "-k", "make_room"),
    ),
    Named(
        "large bodies that come slowly are bounded together",
        "service",
        "if size - held > self.left:",
        "if False:",
        (*_LIMITS, "-k", "large_bodies"),
    ),
    Named(
        "withdrawals are bounded by reports received",
        "service",
        "return more <= known.received or",
        "return True or",
        (*_LIMITS, "-k", "withdrawals"),
    ),
    Named(
        "nothing redirects",
        "service",
        "redirect_slashes = False",
        "redirect_slashes = True",
        (*_LIMITS, "-k", "redirects"),
    ),
    Named(
        "every answer forbids to guess its type",
        "service",
        'headers=[("x-content-type-options", "nosniff")],',
        "",
        (*_LIMITS, "-k", "guess"),
    ),
    Named(
        "a flood of bad requests writes one line",
        "service",
        "handler.addFilter(Throttle())",
        "pass",
        (*_LIMITS, "-k", "flood"),
    ),
    Named(
        "counts are told with noise",
        "service",
        "noise = [old + new for",
        "noise = [old for",
        (*_SERVICE_PRIVACY, "-k", "told"),
    ),
    Named(
        "the noise of counts is that of the stated epsilon",
        "service",
        "Fraction(1, EPSILON)",
        "Fraction(9, 10 * EPSILON)",
        (*_SERVICE_PRIVACY, "-k", "told"),
    ),
    Named(
        "counts are told once in a while",
        "service",
        "if when != slot:",
        "if True:",
        (*_SERVICE_PRIVACY, "-k", "told"),
    ),
    Named(
        "counts are those of the last compaction",
        "service",
        'counts = {"reports": study.counts.counted,',
        'counts = {"reports": study.counts.received,',
        ("tests/service/test_endpoints.py", "-k", "coarse"),
    ),
    Named(
        "one point makes no matrix of a plan's halfspaces",
        "geometry",
        "if self.asked >= len(self.first) * self.dimension:",
        "if True:",
        ("tests/unit/geometry/test_halfspaces.py", "-k", "worth"),
    ),
    Named(
        "a device refuses views that are too large",
        "privacy",
        "if size > self.max_size:",
        "if False:",
        ("tests/unit/privacy/test_policy.py", "-k", "too_large"),
    ),
    Named(
        "a client asks its policy about the size of views",
        "encode",
        "self.plan.minimum_batch, self.plan.size)",
        "self.plan.minimum_batch)",
        ("tests/unit/privacy/test_policy.py", "-k", "too_large"),
    ),
)

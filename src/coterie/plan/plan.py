"""The plan: everything client and server must agree on, frozen, canonical, named by its own hash.

    id           = SHA-256(canonical JSON)                     32 bytes, shown as 64 hex digits
    stream key   = SHA-256("coterie/1/public" ‖ id)[:16]       AES-128
    rotation key = SHA-256("coterie/1/rotation/" ‖ label ‖ "/" ‖ id)[:16]

The id covers every field, so all public randomness changes with any of them, and a report can name the plan
it answers. A plan comes from outside: reading one checks every field, and the odds against ε exactly.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from coterie.errors import PlanError
from coterie.plain.canonical import MAX_BYTES, canonical_bytes, parse_object, shown
from coterie.plain.checks import checked_delta, checked_fields, checked_list
from coterie.plain.files import read_bounded, write_whole
from coterie.plain.record import as_json
from coterie.plan.public import PUBLIC, checked_directions, checked_public_part
from coterie.plan.questions import Questions
from coterie.protocols import PROTOCOLS, design_parameters, parameters_class
from coterie.protocols.base import Facts, Parameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from coterie.features import Feature, Schema
    from coterie.plan.collection import Collection
    from coterie.plan.follow_up import NextQuestion

FORMAT: Final = "coterie-plan"
VERSIONS: Final = (1, 2)  # 2 has directions, or parameters that version 1 cannot say

AUTO: Final = "auto"  # directions: those that the followed-up study found, where they pay

_ROTATION_LABEL: Final = re.compile(r"embedding|view(/(0|[1-9][0-9]{0,4})){1,2}|net|subspace|hyperplanes")
_FIELDS: Final = (*PUBLIC, "delta", "parameters")
_WHERE_DECLARED: Final = ("directions", "features", "collection")  # in the JSON only where there are any
_STUDY: Final = ("clusters", "epsilon", "expected_users", "model", "seed", "ids")  # facts as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Questions):
    """The public contract of one study.

    Make one with `Plan.design`; read one with `Plan.load` or `Plan.from_json`. Two equal plans have the same
    JSON and the same id.

    Attributes
    ----------
    protocol : str
        Which construction; "codeword" is the default one.
    model : str
        Whom a person has to trust: "local" (nobody), "shuffle" (a mixer), "central" (a curator).
    dimension : int
        Coordinates of a point (d), 1 to 3000.
    clusters : int
        Centers to find (k), 1 to 4096, at most `expected_users`.
    epsilon : float
        Privacy parameter of one report, in (0, 16].
    delta : float
        0 in the local model.
    expected_users : int
        How many people are expected to answer; a public guess that the parameters were tuned for.
    center : tuple of d floats or None
        Center of the public ball; None is the origin.
    radius : float
        Radius of the public ball. Points outside are clipped to it.
    seed : int
        Public; another seed gives other public randomness.
    ids : str
        Where a report's id comes from: "random" (the device draws it) or "token" (it follows from a token
        that the collector issued, so that nobody can try many ids; local model only).
    study : str or None
        For a plan that follows up another: the id of the first plan of the study, 64 hex digits. A ledger
        answers one plan of a study, ever. None starts a study.
    after : tuple of str
        Ids of the plans whose results this one was designed from.
    features : Schema or None
        The declared features of people's records; dimension and ball follow from them (in a follow-up plan
        the ball may be another). None where people have points. It stands in the JSON where there is one.
    collection : Collection or None
        When reports are taken in, from how many people on they are decoded and how long they are kept. None
        leaves it to the collector. It stands in the JSON where there is one.
    directions : tuple of tuples of d ints, or None
        The directions that a report speaks of, in units of 2^-20, at most 64; None where it speaks of the
        whole point. They stand in the JSON where there are any, which is of version 2 then.
    parameters : Parameters
        What the protocol adds, here `CodewordParameters`.

    Examples
    --------
    >>> plan = Plan.design(dimension=100, clusters=8, epsilon=1.0, expected_users=1_000_000)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    >>> len(plan.id), plan.report_width
    (64, 13)
    """

    protocol: str
    model: str
    dimension: int
    clusters: int
    epsilon: float
    delta: float
    expected_users: int
    center: tuple[float, ...] | None
    radius: float
    seed: int
    parameters: Parameters
    ids: str = "random"
    study: str | None = None
    after: tuple[str, ...] = ()
    features: Schema | None = None
    collection: Collection | None = None
    directions: tuple[tuple[int, ...], ...] | None = None
    id_bytes: bytes = field(init=False, repr=False, compare=False)  # the id as 32 bytes

    def __post_init__(self) -> None:
        for name, value in checked_public_part(**{name: getattr(self, name) for name in PUBLIC}).items():
            object.__setattr__(self, name, value)
        self._check_features()
        if not isinstance(self.parameters, expected := parameters_class(self.protocol, self.model)):
            raise PlanError(
                f"parameters of protocol {self.protocol} in the {self.model} model are {expected.__name__}, "
                f"got {shown(self.parameters)}"
            )
        object.__setattr__(self, "delta", checked_delta(self.model, self.delta))
        self._check_directions()
        self.parameters.check_fit(self.coordinates)
        if self.minimum_batch > self.expected_users:
            raise PlanError(
                f"minimum_batch {self.minimum_batch} must not exceed expected_users {self.expected_users}: "
                "no batch could be released"
            )
        self._check_collection()
        self.check_promise()
        object.__setattr__(self, "id_bytes", hashlib.sha256(canonical_bytes(self.to_dict())).digest())

    def __repr__(self) -> str:
        declared = "" if self.features is None else f", {len(self.features.features)} features"
        wave = f", after {len(self.after)} plans" if self.after else ""
        return (
            f"Plan({self.protocol!r}, {self.model!r}, dimension={self.dimension}{declared}, "
            f"clusters={self.clusters}, epsilon={self.epsilon:g}, expected_users={self.expected_users:,}"
            f"{wave}, id {self.id[:12]}…)"
        )

    def _repr_html_(self) -> str:
        """Return what a person would be asked and promised, for a notebook."""
        from coterie.plain.notebook import facts_html

        promise = self.guarantee
        facts = [
            ("id", self.id),
            ("protocol", f"{self.protocol}, {self.model} model"),
            ("groups", f"{self.clusters}"),
            ("privacy", " ".join(promise.paragraphs[0].split()[1:])),
            ("people expected", f"{self.expected_users:,}"),
            ("one report", f"{self.report_width} bytes"),
            ("ball", f"radius {self.radius:g} in {self.dimension} dimensions"),
        ]
        if self.features is not None:
            facts.append(("asked about", ", ".join(each.name for each in self.features.features)))
        return facts_html("Plan", facts)

    def _check_features(self) -> None:
        """Recompute dimension and ball from the features, and refuse a plan that says otherwise."""
        if self.features is None:  # then a device need not load what records take
            return
        from coterie.features import Schema

        if not isinstance(self.features, Schema):
            raise PlanError(f"features must be a Schema, got {shown(self.features)}")
        if self.dimension != self.features.dimension:
            raise PlanError(
                f"dimension must be {self.features.dimension}, as follows from the features, "
                f"got {self.dimension}"
            )
        if not self.after and (self.center is not None or self.radius != self.features.radius):
            raise PlanError(
                f"center must be null and radius {self.features.radius!r}, as follows from the features, "
                f"got radius {self.radius!r}; only a follow-up plan may have another ball"
            )

    def _check_directions(self) -> None:
        """Refuse directions that the protocol cannot report in, or that exact sums do not hold."""
        if self.directions is None:
            return
        if not PROTOCOLS[self.protocol].takes_directions:
            able = [name for name, protocol in PROTOCOLS.items() if protocol.takes_directions]
            raise PlanError(f"only protocol {' or '.join(able)} takes directions, got {self.protocol}")
        object.__setattr__(self, "directions", checked_directions(self.directions, self.dimension))

    def _check_collection(self) -> None:
        """Refuse a minimum that nobody can reach, or below which a shuffler releases nothing."""
        if self.collection is None:
            return
        from coterie.plan.collection import Collection

        if not isinstance(self.collection, Collection):
            raise PlanError(f"collection must be a Collection, got {shown(self.collection)}")
        if not self.minimum_batch <= self.collection.minimum <= self.expected_users:
            raise PlanError(
                f"collection.minimum must be in [{self.minimum_batch}, {self.expected_users}], from the "
                f"smallest batch to expected_users, got {self.collection.minimum}"
            )

    @classmethod
    def design(
        cls,
        dimension: int | None = None,
        clusters: int | None = None,
        epsilon: float | None = None,
        expected_users: int | None = None,
        *,
        features: Schema | Sequence[Feature] | Mapping[str, Any] | str | os.PathLike[str] | None = None,
        protocol: str = "codeword",
        model: str = "local",
        center: Sequence[float] | None = None,
        radius: float | None = None,
        seed: int = 0,
        delta: float = 0.0,
        ids: str = "random",
        study: str | None = None,
        after: Any = (),
        confirm: bool = False,
        collection: Collection | Mapping[str, Any] | None = None,
        directions: ArrayLike | str | None = AUTO,
        **options: Any,
    ) -> Self:
        """Choose the protocol's parameters from the public facts of a study and freeze the plan.

        Parameters
        ----------
        dimension : int
            Coordinates of a point, 1 to 3000; follows from `features` where they are given.
        clusters : int
            Centers to find, 1 to 4096, at most `expected_users`.
        epsilon : float
            Privacy parameter, in (0, 16]; smaller is more private.
        expected_users : int
            Roughly how many people will answer, at most 2^40.
        features : Schema, sequence of Feature, mapping or path, optional
            What people's records hold, as such, in JSON form, or in a JSON or TOML file. Dimension, center
            and radius follow, and must not be given (center and radius may be in a follow-up plan).
        protocol, model : str
            The construction and the trust model.
        center : sequence of `dimension` floats, optional
            Center of the public ball; the origin if None. Choose it without looking at the data.
        radius : float
            Radius of the public ball, 1 if None. Choose it without looking at the data.
        seed : int
            0 to 2^53-1, public. Another seed gives other public randomness.
        delta : float
            0 in the local model; in the others the chance that the promise may fail, say 1e-6.
        ids : {"random", "token"}
            Where a report's id comes from; "token" in the local model only.
        study : str, optional
            For a follow-up plan: the id of the first plan of its study.
        after : Result, Population or sequence of str
            What the plan follows up, for *other* people: the result (or its population) of a first study,
            whose ball and `study` it then takes where they are not given. Or only the ids of the plans whose
            results it is designed from.
        confirm : bool
            Whether to ask about the groups of the Result `after` instead of finding others: their centers
            are published in the plan, and `coterie.decode` gives the share and the mean of the people nearest
            to each, with intervals that need no model (docs/waves.md). Dimension, clusters, features and the
            ball are the result's where they are not given.
        collection : Collection or mapping, optional
            When reports are taken in, from how many people on they are decoded and how long they are kept.
        directions : array_like of shape (m, d), "auto" or None
            What reports speak of, where that is not the whole point: a public sample's leading directions or
            an analyst's own, which become orthonormal. "auto" takes those that the study in `after` found, if
            they pay and neither center nor radius is given. What lies outside them nobody reports.
        **options
            What the protocol's design takes besides; see its function in `coterie.protocols`.

        Returns
        -------
        Plan

        Examples
        --------
        >>> Plan.design(dimension=2, clusters=3, epsilon=2.0, expected_users=10_000).guarantee.spent <= 2.0
        True
        >>> from coterie.features import Flag, Number
        >>> people = [Number("age", 0, 100, unit="years"), Flag("member", weight=0.5)]
        >>> plan = Plan.design(features=people, clusters=3, epsilon=2.0, expected_users=10_000)
        >>> plan.dimension, round(plan.radius, 6)
        (2, 0.559017)
        """
        from coterie.plan.follow_up import (  # whoever reads a plan designs none
            answer_in,
            ball_after,
            directions_after,
            groups_to_confirm,
            next_question,
            orthonormal,
            population_in,
        )

        answer = answer_in(after) if confirm else None
        if answer is not None:
            dimension = answer.centers.shape[1] if dimension is None else dimension
            clusters = len(answer.centers) if clusters is None else clusters
            features = answer.features if features is None else features
            if center is None and radius is None:
                center, radius = answer.middle, answer.radius
        schema = None
        if features is not None:
            from coterie.features.schema import as_schema

            schema = as_schema(features)
        rows: Any = None if directions is None or isinstance(directions, str) else orthonormal(directions)
        if isinstance(directions, str) and directions != AUTO:
            raise PlanError(f'directions must be an array, "{AUTO}" or None, got {shown(directions)}')
        if confirm and rows is not None:
            raise PlanError("a plan that confirms asks about whole points: leave directions out")
        if (population := population_in(after)) is not None:
            if center is None and radius is None:
                center, radius = ball_after(after)
                before = getattr(after, "radius", None), getattr(after, "middle", None)
                told = isinstance(directions, str)
                asks = next_question(after, *before, expected_users, protocol).asks if told else "ball"
                if asks == "same":
                    radius, center = before
                elif asks == "directions":
                    radius, rows = directions_after(population, radius)
            study, after = study or population.study_id, population.plan_ids
        if schema is not None:
            dimension = schema.dimension if dimension is None else dimension
            if radius is None and center is None:
                radius = schema.radius
            elif not after:
                raise PlanError(
                    "center and radius follow from the features; leave them out, or give a coverage"
                )
        public = checked_public_part(
            protocol=protocol,
            model=model,
            dimension=dimension,
            clusters=clusters,
            epsilon=epsilon,
            expected_users=expected_users,
            center=center,
            radius=1.0 if radius is None else radius,
            seed=seed,
            ids=ids,
            study=study,
            after=after,
        )
        parameters_class(protocol, model)  # before δ: a protocol that does not run there says so
        if rows is not None:
            rows = checked_directions(rows, public["dimension"])
        facts = Facts(
            **{name: public[name] for name in _STUDY},
            dimension=public["dimension"] if rows is None else len(rows),
            delta=checked_delta(model, delta),
        )
        parameters = design_parameters(protocol, facts, options)
        if answer is not None:
            groups = groups_to_confirm(answer, public["clusters"], public["center"], public["radius"])
            parameters = parameters.asking_about(groups)
        if isinstance(collection, Mapping):
            from coterie.plan.collection import Collection

            collection = Collection.from_dict(collection)
        return cls(
            **public, features=schema, collection=collection, directions=rows, delta=delta,
            parameters=parameters,
        )  # fmt: skip

    def follow_up(self, result: Any, expected_users: int, **changes: Any) -> Self:
        """Design a plan for other people from what this one's people told: a ball where people are.

        Sequential interaction with the population, one message per person: whoever answered this plan does
        not answer the next one (a ledger answers one plan of a study, ever), and so each person's epsilon is
        that of the one plan they answered. `coterie.decode([first, second])` reads both tables together.

        Parameters
        ----------
        result : Result or Population
            What the first people's reports gave. In many dimensions, where they told no groups apart, the
            plan asks for the directions in which people differ most. Where groups were found it asks the same
            again, unless a far smaller ball would hold everybody: the center of that is the mean of the
            population, the radius follows from how far from there people are (`coterie.plan.follow_up`).
            `next_question` says which of them, and why. A population alone tells less than its result: not
            how many answered, nor what is not known of their mean.
        expected_users : int
            How many other people will answer.
        **changes
            What is to differ from this plan; as for `design`, with `confirm=True` to ask about the groups
            that were found. How it is collected is said anew.

        Returns
        -------
        Plan
            With the study of this one.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=1000, radius=100.0)
        >>> points, weights = np.array([[7.0, 5.0], [3.0, 5.0]]), np.ones(2)
        >>> names = {"study_id": plan.id, "plan_ids": (plan.id,)}
        >>> seen = SimpleNamespace(points=points, weights=weights, scatter=0.0, **names)  # or a Result
        >>> wave = plan.follow_up(seen, expected_users=9000)
        >>> wave.center, round(wave.radius, 6), wave.study_id == plan.id
        ((5.0, 5.0), 2.0, True)
        """
        from coterie.plan.follow_up import ball_after

        asks = self.next_question(result, expected_users, **changes).asks
        kept = {"dimension", "features", "clusters", "epsilon", "protocol", "model", "delta", "ids", "seed"}
        if asks == "confirm":
            kept.remove("clusters")  # as many as were found
        settings = {**{name: getattr(self, name) for name in sorted(kept)}, **changes}
        if asks == "confirm" and self.directions is not None and "center" not in changes:
            middle, suits = ball_after(result)  # the plan's own is far wider
            settings.update(center=middle, radius=changes.get("radius", suits))
        keeps = self.directions if asks == "same" else None
        if asks == "same":
            same = None if keeps is None else np.array(keeps, dtype=np.float64)
            settings.update(center=self.center, radius=self.radius, directions=same)
        elif asks == "ball":
            settings["directions"] = None
        made = type(self).design(**settings, expected_users=expected_users, after=result)
        return made if keeps is None else replace(made, directions=keeps)

    def next_question(self, result: Any, expected_users: int, **changes: Any) -> NextQuestion:
        """Return what `follow_up` would ask other people, and why: a word and a sentence with its figures.

        Parameters
        ----------
        result : Result or Population
            As for `follow_up`, whose plan it speaks of.
        expected_users : int
            Likewise.
        **changes
            Likewise.

        Returns
        -------
        NextQuestion
            `asks`: "same", "ball" or "directions"; "confirm" or "given" where `changes` say it. `why`: a
            sentence.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> import numpy as np
        >>> plan = Plan.design(dimension=2, clusters=2, epsilon=1.0, expected_users=1000, radius=100.0)
        >>> names = {"study_id": plan.id, "plan_ids": (plan.id,)}
        >>> seen = SimpleNamespace(points=np.eye(2), weights=np.ones(2), scatter=0.5, **names)  # or a Result
        >>> print(plan.next_question(seen, expected_users=9000))
        Asked about is a better ball: a ball that suits people has a radius of 1, and the one before 100
        """
        from coterie.plan.follow_up import NextQuestion, next_question, population_in

        population = population_in(result)
        if population is None:
            kind = shown(type(result).__name__)
            raise PlanError(f"a follow-up needs the first study's Result or Population, got {kind}")
        if self.id not in population.plan_ids:
            raise PlanError("this result does not come from this plan: its population does not name the plan")
        if changes.get("confirm"):
            return NextQuestion("confirm", "Others are asked about the groups that were found, as was wanted")
        unsaid = {"center": None, "directions": AUTO, "radius": None}
        asked = {name: changes.get(name, one) for name, one in unsaid.items()}
        if given := [
            name for name, one in asked.items() if not (one is unsaid[name] or isinstance(one, str))
        ]:
            return NextQuestion("given", f"Asked is what was given: {' and '.join(given)}")
        if self.directions is not None:  # once others were asked about these, there is nothing better to ask
            told = f"others reported in these {len(self.directions)} directions already"
            return NextQuestion("same", f"The same is asked again: {told}")
        protocol = changes.get("protocol", self.protocol)
        return next_question(result, self.radius, self.center, expected_users, protocol)

    @property
    def id(self) -> str:
        """The plan's name: SHA-256 of its canonical JSON, 64 hex digits."""
        return self.id_bytes.hex()

    @property
    def coordinates(self) -> int:
        """Coordinates that a report speaks of: those of a point, or one a direction."""
        return self.dimension if self.directions is None else len(self.directions)

    @property
    def version(self) -> int:
        """Version of the JSON: the lowest that can say it."""
        return max(VERSIONS[self.directions is not None], self.parameters.plan_version)

    @property
    def study_id(self) -> str:
        """The study that the plan belongs to: the id of its first plan, or its own where it is the first."""
        return self.study or self.id

    @property
    def facts(self) -> Facts:
        """The public facts that the parameters were chosen from and are checked against."""
        study = {name: getattr(self, name) for name in _STUDY}
        return Facts(**study, dimension=self.coordinates, delta=self.delta)

    def randomness_key(self, label: str = "public") -> bytes:
        """Return a 16-byte key of public randomness, bound to the plan.

        Parameters
        ----------
        label : str
            "public" for the reports' stream; "embedding", "view/<number>" or "view/<number>/<block>" for a
            rotation; "net" for a net's shift; "subspace" for a projection; "hyperplanes" for SimHash.
        """
        if label == "public":
            return hashlib.sha256(b"coterie/1/public" + self.id_bytes).digest()[:16]
        if not _ROTATION_LABEL.fullmatch(label):
            raise PlanError(
                "a key's label is public, embedding, view/<number>, view/<number>/<block>, net, subspace or "
                f"hyperplanes, got {shown(label)}"
            )
        return hashlib.sha256(f"coterie/1/rotation/{label}/".encode() + self.id_bytes).digest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        declared = [name for name in _WHERE_DECLARED if getattr(self, name) is not None]
        return {
            "format": FORMAT,
            "version": self.version,
            **{name: as_json(getattr(self, name)) for name in (*_FIELDS, *declared)},
        }

    def to_json(self) -> str:
        """Return the canonical JSON (RFC 8785); the id is the SHA-256 of its UTF-8 bytes."""
        return canonical_bytes(self.to_dict()).decode("utf-8")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a plan and check all of it, the odds against epsilon included.

        Spaces, the order of keys and the spelling of a number do not matter: the id is the canonical form's.

        Raises
        ------
        PlanError
            If a field is missing, unknown, of the wrong type or out of range, or the odds break the promise.
        """
        data = parse_object(text)
        if data.get("format") != FORMAT:
            raise PlanError(f"format must be {FORMAT!r}, got {shown(data.get('format'))}: this is no plan")
        version = data.get("version")
        if type(version) is not int or version not in VERSIONS:
            raise PlanError(
                f"version must be an integer from 1 to {VERSIONS[-1]}, got {shown(version)}; later coteries "
                "read later ones"
            )
        own = tuple(name for name in _WHERE_DECLARED if name in data)
        fields = checked_fields("plan", data, ("format", "version", *_FIELDS, *own))
        known = {name: fields[name] for name in _FIELDS}
        if "directions" in own:
            known["directions"] = checked_list("directions", fields["directions"])
        made = parameters_class(fields["protocol"], fields["model"])
        known["parameters"] = made.from_dict(fields["parameters"])
        if "features" in own:
            from coterie.features import Schema

            known["features"] = Schema.from_dict(fields["features"])
        if "collection" in own:
            from coterie.plan.collection import Collection

            known["collection"] = Collection.from_dict(fields["collection"])
        plan = cls(**known)
        if plan.version != version:
            raise PlanError(
                f"a plan like this one is of version {plan.version}, got version {version}: those with "
                "directions, and of protocol net-tree in the shuffle model, are of version 2, all others of 1"
            )
        return plan

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the canonical JSON to a file, whole or not at all; `sha256sum` of the file is the id.

        A file that exists is replaced only with `overwrite`: a published plan should not change unseen.
        """
        write_whole(path, self.to_json(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a plan from a file and check all of it, as `from_json` does."""
        data = read_bounded(path, MAX_BYTES, "a plan")
        try:
            return cls.from_json(data)
        except PlanError as error:
            raise PlanError(f"{os.fspath(path)}: {error}") from None

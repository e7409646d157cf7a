"""The mutants of a source file: one small change each, made on the syntax tree and written into the text.

A mutant is named by its file, its function and the change of text, never by a line number, so its name
outlives edits elsewhere. What says nothing is left alone: annotations, docstrings, decorators, the words of
errors and warnings, imports and `__all__`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tools.mutants.tree import digest

_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.Pow: "*",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitOr: "&",
    ast.BitAnd: "|",
    ast.BitXor: "|",
    ast.MatMult: "*",
}
_OPERATORS: dict[type[ast.operator], ast.operator] = {
    kind: ast.parse(f"a {sign} b", mode="eval").body.op  # type: ignore[attr-defined]
    for kind, sign in _ARITHMETIC.items()
}
_NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "minimum": "maximum",
    "maximum": "minimum",
    "ROUND_CEILING": "ROUND_FLOOR",
    "ROUND_FLOOR": "ROUND_CEILING",
    "sorted": "list",
}
_SILENT_CALLS = {"warn", "cast"}  # their arguments are words


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change.

    Attributes
    ----------
    file : str
        Relative to the package.
    function : str
        Qualified name of the function or class, "" at the top of the module.
    before, after : str
        The changed expression or statement, on one line.
    ordinal : int
        1 for the first such change of the function, 2 for the next.
    line : int
        Where it stands today; not part of the name.
    digest : str
        Of the file without the change.
    source : str
        The whole file with the change.
    """

    file: str
    function: str
    before: str
    after: str
    ordinal: int
    line: int
    digest: str
    source: str

    @property
    def name(self) -> str:
        """The name, on one line."""
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.file} | {self.function} | {self.before} -> {self.after}{again}"


def mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw, whole = text.encode(), digest(text)
    seen: Counter[tuple[str, str, str]] = Counter()
    made = []
    for function, node, after in _changes(ast.parse(text), ""):
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node).split("\n")[0]
        inserted = f"({after})" if isinstance(node, ast.expr) else after
        key = (function, before, after)
        seen[key] += 1
        source = (raw[:first] + inserted.encode() + raw[last:]).decode()
        made.append(Mutant(file, function, before, after, seen[key], node.lineno, whole, source))
    return sorted(made, key=lambda mutant: mutant.line)


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield (function, what is replaced, by what) for the whole tree below `node`."""
    for child in _spoken(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            inside = f"{function}.{child.name}".lstrip(".")
        elif isinstance(child, ast.expr):
            yield from ((function, child, after) for after in _expression(child))
        elif isinstance(child, ast.stmt):
            yield from ((function, child, after) for after in _statement(child))
        for tested in _conditions(child):
            negated = ast.unparse(ast.UnaryOp(ast.Not(), tested))
            yield function, tested, "False" if isinstance(child, ast.While) else negated
        yield from _changes(child, inside)


def _spoken(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that have a meaning at run time."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert | ast.JoinedStr):
        return []
    if isinstance(node, ast.Call) and _called(node) in _SILENT_CALLS:
        return []
    if isinstance(node, ast.Call) and _called(node).endswith(("Error", "Warning")):
        return []
    if isinstance(node, ast.Assign) and any(
        isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
    ):
        return []
    skipped = {"annotation", "returns", "decorator_list", "bases", "keywords", "type_params", "args"}
    if isinstance(node, ast.ClassDef):
        return list(node.body)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None), *node.body]
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value is not None else []
    if isinstance(node, ast.Lambda | ast.Call | ast.arguments | ast.keyword):
        skipped = set()
    children: list[ast.AST] = []
    for field, value in ast.iter_fields(node):
        if field in skipped:
            continue
        children += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]
    return children


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Return the conditions of a node that are negated; a single comparison by == or `is` is already."""
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = list(node.ifs)
    else:
        return []
    if isinstance(node, ast.While):
        return [test for test in tests if not isinstance(test, ast.Constant)]
    return [test for test in tests if not _flips_when_swapped(test)]


def _flips_when_swapped(test: ast.expr) -> bool:
    exact = ast.Eq | ast.NotEq | ast.In | ast.NotIn | ast.Is | ast.IsNot
    alone = isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], exact)
    return alone or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _expression(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare():
            for i, old in enumerate(node.ops):
                sides = [node.left, *node.comparators]
                words = [ast.unparse(sides[0])]
                for j, (now, side) in enumerate(zip(node.ops, sides[1:], strict=True)):
                    sign = _COMPARE[type(old)] if i == j else _sign(now)
                    words += [sign, _operand(side)]
                yield " ".join([_operand(sides[0]), *words[1:]])
        case ast.BoolOp():
            for i in range(len(node.values)):
                rest = [value for j, value in enumerate(node.values) if j != i]
                yield ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
        case ast.BinOp() if not isinstance(node.left, ast.Constant) or not isinstance(node.left.value, str):
            if isinstance(node.right, ast.JoinedStr) or isinstance(node.left, ast.JoinedStr):
                return
            yield ast.unparse(ast.BinOp(node.left, _OPERATORS[type(node.op)], node.right))
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield ast.unparse(node.operand)
        case ast.Constant(value=bool()):
            yield str(not node.value)
        case ast.Constant(value=int()):
            yield str(int(node.value) + 1)
        case ast.Constant(value=float()):
            yield repr(2 * node.value if node.value else 1.0)
        case ast.Constant(value=bytes()) if node.value:
            yield repr(node.value[:-1])
        case ast.Name() if node.id in _NAMES and isinstance(node.ctx, ast.Load):
            yield _NAMES[node.id]
        case ast.Attribute() if node.attr in _NAMES and isinstance(node.ctx, ast.Load):
            yield ast.unparse(ast.Attribute(node.value, _NAMES[node.attr], ast.Load()))
        case ast.Attribute(attr="inf", value=ast.Name(id="math" | "np")):
            yield f"(-{ast.unparse(node)})"


def _operand(node: ast.expr) -> str:
    text = ast.unparse(node)
    return (
        text
        if isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript)
        else f"({text})"
    )


def _sign(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[2:-2]


def _statement(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield "return None"
        case ast.Raise() if node.exc is not None:
            yield "pass"
        case ast.Expr(value=ast.Call() | ast.Yield()) if not _is_super(node.value):
            yield "pass"
        case ast.AugAssign():
            target = ast.unparse(node.target)
            yield f"{target} {_ARITHMETIC[type(node.op)]}= {ast.unparse(node.value)}"
        case ast.Break():
            yield "pass"
        case ast.Continue():
            yield "pass"


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and "warn" in ast.unparse(node.func)

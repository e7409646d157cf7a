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

_COMPARE = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="},
    **{"in": "not in", "not in": "in", "is": "is not", "is not": "is"},
}
_ARITHMETIC = {
    **{"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*", "@": "*"},
    **{"<<": ">>", ">>": "<<", "|": "&", "&": "|", "^": "|"},
}
_NAMES = {
    **{"min": "max", "any": "all", "floor": "ceil", "minimum": "maximum", "ROUND_CEILING": "ROUND_FLOOR"},
    **{"max": "min", "all": "any", "ceil": "floor", "maximum": "minimum", "ROUND_FLOOR": "ROUND_CEILING"},
    "sorted": "list",
}
_SILENT = ("warn", "cast", "Error", "Warning")  # endings of calls whose arguments are words
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SIMPLE = ast.Name | ast.Constant | ast.Attribute | ast.Call | ast.Subscript


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change."""

    file: str  # relative to the package
    function: str  # qualified name of the function or class, "" at the top of the module
    before: str  # the changed expression or statement, on one line
    after: str
    ordinal: int  # 1 for the first such change of the function, 2 for the next
    line: int  # where it stands today; not part of the name
    source: str  # the whole file with the change

    @property
    def name(self) -> str:
        """The name, on one line."""
        again = f" #{self.ordinal}" if self.ordinal > 1 else ""
        return f"{self.file} | {self.function} | {self.before} -> {self.after}{again}"


def mutants(file: str, text: str) -> list[Mutant]:
    """Return all mutants of a file, in the order of its lines."""
    raw = text.encode()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    seen: Counter[tuple[str, str, str]] = Counter()
    made = []
    for function, node, after in _changes(ast.parse(text), ""):
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = ast.unparse(node).split("\n")[0]
        inserted = f"({after})" if isinstance(node, ast.expr) else after
        seen[function, before, after] += 1
        source = (raw[:first] + inserted.encode() + raw[last:]).decode()
        made.append(Mutant(file, function, before, after, seen[function, before, after], node.lineno, source))
    return sorted(made, key=lambda mutant: mutant.line)


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield (function, what is replaced, by what) for the whole tree below `node`."""
    for child in _spoken(node):
        if isinstance(child, _SCOPES):
            yield from _changes(child, f"{function}.{child.name}".lstrip("."))
            continue
        if isinstance(child, ast.expr | ast.stmt):
            change = _expression(child) if isinstance(child, ast.expr) else _statement(child)
            yield from ((function, child, after) for after in change)
        for tested in _conditions(child):
            negated = ast.unparse(ast.UnaryOp(ast.Not(), tested))
            yield function, tested, "False" if isinstance(child, ast.While) else negated
        yield from _changes(child, function)


def _spoken(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that have a meaning at run time."""
    match node:
        case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
            return []
        case ast.Call() if _called(node).endswith(_SILENT):
            return []
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return []
        case ast.ClassDef():
            return list(node.body)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None), *node.body]
        case ast.AnnAssign():
            return [node.value] if node.value is not None else []
    return list(ast.iter_child_nodes(node))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Return the conditions of a node that are negated; one that is swapped by its operator is already."""
    match node:
        case ast.While():
            return [] if isinstance(node.test, ast.Constant) else [node.test]
        case ast.If() | ast.IfExp():
            tests = [node.test]
        case ast.comprehension():
            tests = node.ifs
        case _:
            return []
    return [test for test in tests if not _flips_when_swapped(test)]


def _flips_when_swapped(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]):
            return True
        case ast.UnaryOp(op=ast.Not()):
            return True
    return False


def _sign(operator: ast.cmpop | ast.operator) -> str:
    """Return an operator as it is written."""
    a, b = ast.Name("a"), ast.Name("b")
    whole = ast.Compare(a, [operator], [b]) if isinstance(operator, ast.cmpop) else ast.BinOp(a, operator, b)
    return ast.unparse(whole)[2:-2]


def _expression(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Compare():
            sides = [
                ast.unparse(side) if isinstance(side, _SIMPLE) else f"({ast.unparse(side)})"
                for side in (node.left, *node.comparators)
            ]
            for changed in range(len(node.ops)):
                signs = [_sign(operator) for operator in node.ops]
                signs[changed] = _COMPARE[signs[changed]]
                pairs = zip(signs, sides[1:], strict=True)
                yield " ".join([sides[0], *(word for pair in pairs for word in pair)])
        case ast.BoolOp():
            for i in range(len(node.values)):
                rest = [value for j, value in enumerate(node.values) if j != i]
                yield ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
        case ast.BinOp(left=ast.JoinedStr() | ast.Constant(value=str())) | ast.BinOp(right=ast.JoinedStr()):
            return
        case ast.BinOp():
            other = ast.parse(f"a {_ARITHMETIC[_sign(node.op)]} b", mode="eval").body
            yield ast.unparse(ast.BinOp(node.left, other.op, node.right))  # type: ignore[attr-defined]
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
        case ast.Name(ctx=ast.Load()) if node.id in _NAMES:
            yield _NAMES[node.id]
        case ast.Attribute(ctx=ast.Load()) if node.attr in _NAMES:
            yield ast.unparse(ast.Attribute(node.value, _NAMES[node.attr], ast.Load()))
        case ast.Attribute(attr="inf", value=ast.Name(id="math" | "np")):
            yield f"(-{ast.unparse(node)})"


def _statement(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return None"
        case ast.Raise() if node.exc is not None:
            yield "pass"
        case ast.Expr(value=ast.Call() as call) if "warn" not in ast.unparse(call.func):
            yield "pass"
        case ast.Expr(value=ast.Yield()) | ast.Break() | ast.Continue():
            yield "pass"
        case ast.AugAssign():
            yield f"{ast.unparse(node.target)} {_ARITHMETIC[_sign(node.op)]}= {ast.unparse(node.value)}"

r"""DOT and DAGitty text: the two share one grammar of names, arrows and attributes.

In a quoted name ``\"``, ``\\``, ``\n`` and ``\xHH`` (a control character) stand for one character; any other
backslash stands for itself. Graphviz shows such names as they are meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import isfinite

from acyclic.errors import InputError
from acyclic.graphs.checks import shown
from acyclic.graphs.edge_list import EdgeList, ListedEdge

Attributes = dict[str, str]

# Digits are taken for good (++): giving some back cannot end a number, and trying to took quadratic time.
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<arrow>->|<->|<-|--|@-@|@->|<-@)
      | (?P<mark>[{}\[\];,=])
      | (?P<bare>-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w.])|[\w.]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)
_TO_ESCAPE = re.compile(r'[\x00-\x1f"\\]')
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\", "\n": ""}


def write_dot(graph: EdgeList) -> str:
    """Write DOT for Graphviz: nodes in order, then edges with a short label and the exact ``beta``.

    The weight is not called ``weight``, which Graphviz takes for a layout strength and refuses if negative.

    Examples
    --------
    >>> print(write_dot(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])), end="")
    digraph {
      "a";
      "b";
      "a" -> "b" [label="0.5", beta="0.5"];
    }
    """
    nodes = [f"  {_quoted(name)};" for name in graph.names]
    edges = [
        f'  {_quoted(source)} -> {_quoted(target)} [label="{weight:.3g}", beta="{weight!r}"];'
        for source, target, weight in graph.edges
    ]
    return "\n".join(["digraph {", *nodes, *edges, "}", ""])


def write_dagitty(graph: EdgeList) -> str:
    """Write DAGitty model code, each weight as the path coefficient ``beta``.

    Examples
    --------
    >>> print(write_dagitty(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])), end="")
    dag {
    "a"
    "b"
    "a" -> "b" [beta="0.5"]
    }
    """
    edges = [f'{_quoted(source)} -> {_quoted(target)} [beta="{weight!r}"]' for source, target, weight in graph.edges]
    return "\n".join(["dag {", *map(_quoted, graph.names), *edges, "}", ""])


def read_dot(text: str) -> EdgeList:
    """Read a DOT digraph; see `acyclic.graphs.formats.from_dot`."""
    return _Reader(text, "digraph").read()


def read_dagitty(text: str) -> EdgeList:
    """Read DAGitty model code; see `acyclic.graphs.formats.from_dagitty`."""
    return _Reader(text, "dag").read()


def _quoted(name: str) -> str:
    def escape(match: re.Match[str]) -> str:
        character = match[0]
        if character in '"\\':
            return "\\" + character
        return "\\n" if character == "\n" else f"\\x{ord(character):02x}"

    return f'"{_TO_ESCAPE.sub(escape, name)}"'


def _unquoted(body: str) -> str:
    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _UNESCAPED.get(match[2], match[0])

    return _ESCAPED.sub(character, body)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int

    @property
    def is_name(self) -> bool:
        return self.kind in ("bare", "quoted")

    @property
    def word(self) -> str:
        """The keyword that this may be; DOT ignores case, and a quoted word is none."""
        return self.text.lower() if self.kind == "bare" else ""


def _tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise InputError(f"line {line}: cannot read the text from {text[position : position + 20]!r} on")
        if match.lastgroup != "space":
            body = match[match.lastgroup]
            yield _Token(match.lastgroup, _unquoted(body) if match.lastgroup == "quoted" else body, line)
        position = match.end()
        line += match[0].count("\n")
    yield _Token("end", "", line)


def _weight(attributes: Attributes, line: int) -> float:
    """Find the weight among the attributes of an edge."""
    key = next((key for key in ("beta", "weight", "label") if key in attributes), None)
    if key is None:
        return 1.0
    try:
        weight = float(attributes[key])
    except ValueError:
        if key == "label":
            return 1.0
        raise InputError(f"line {line}: {key} is {attributes[key]!r}; it must be a number") from None
    if weight == 0 or not isfinite(weight):
        raise InputError(f"line {line}: {key} is {weight}; a weight must be finite and not 0")
    return weight


class _Reader:
    """Recursive descent over the statements of one graph."""

    def __init__(self, text: str, keyword: str) -> None:
        self.keyword = keyword
        self.tokens = list(_tokens(text))
        self.names: dict[str, None] = {}
        self.edges: dict[tuple[str, str], float] = {}
        self.edge_defaults: Attributes = {}
        self.place = 0

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def advance(self) -> _Token:
        self.place += 1
        return self.tokens[self.place - 1]

    def accept(self, *marks: str) -> bool:
        found = self.token.kind == "mark" and self.token.text in marks
        self.place += found
        return found

    def expect(self, found: bool, wanted: str) -> None:
        if not found:
            given = repr(self.token.text) if self.token.kind != "end" else "the end of the text"
            raise InputError(f"line {self.token.line}: expected {wanted}, found {given}")

    def name(self) -> str:
        self.expect(self.token.is_name, "a name")
        return self.advance().text

    def read(self) -> EdgeList:
        self.header()
        while not self.accept("}"):
            self.statement()
            self.accept(";")
        self.expect(self.token.kind == "end", "nothing after the graph")
        return EdgeList(list(self.names), [ListedEdge(*ends, weight) for ends, weight in self.edges.items()])

    def header(self) -> None:
        if self.token.word == "strict":
            self.advance()
        self.expect(self.token.word == self.keyword, f"{self.keyword!r} at the start of the graph")
        self.advance()
        if self.token.is_name:
            self.advance()
        self.expect(self.accept("{"), "'{'")

    def statement(self) -> None:
        line, keyword = self.token.line, self.statement_keyword()
        if keyword:
            attributes = self.attributes()
            self.edge_defaults |= attributes if keyword == "edge" else {}
            return
        chain, arrows = [self.group()], []
        if self.accept("="):
            self.name()
            return
        while self.token.kind == "arrow":
            arrows.append(self.advance())
            chain.append(self.group())
        attributes = self.edge_defaults | self.attributes()
        self.names |= dict.fromkeys(name for group in chain for name in group)
        for arrow, left, right in zip(arrows, chain, chain[1:]):
            self.connect(arrow, left, right, _weight(attributes, line))

    def statement_keyword(self) -> str | None:
        """Consume and give the word of a DOT statement that sets defaults."""
        word = self.token.word if self.keyword == "digraph" else ""
        if word == "subgraph":
            self.expect(False, "nodes and edges (subgraphs are not supported)")
        if word not in ("graph", "node", "edge"):
            return None
        self.advance()
        self.expect(self.token.text == "[", f"'[' after {word} (quote it if it is the name of a node)")
        return word

    def group(self) -> list[str]:
        """Read one name, or several in braces."""
        if not self.accept("{"):
            return [self.name()]
        names = []
        while not self.accept("}"):
            names.append(self.name())
            self.accept(";", ",")
        return names

    def attributes(self) -> Attributes:
        found: Attributes = {}
        while self.accept("["):
            while not self.accept("]"):
                key = self.name()
                found[key] = self.name() if self.accept("=") else ""
                self.accept(",", ";")
        return found

    def connect(self, arrow: _Token, left: list[str], right: list[str], weight: float) -> None:
        if arrow.text not in ("->", "<-"):
            raise InputError(f"line {arrow.line}: a DAG has only directed edges, written ->, not {arrow.text}")
        sources, targets = (left, right) if arrow.text == "->" else (right, left)
        for source, target in product(sources, targets):
            if (source, target) in self.edges:
                edge = f"{shown(source)} → {shown(target)}"
                raise InputError(f"line {arrow.line}: the edge {edge} is given twice")
            self.edges[source, target] = weight

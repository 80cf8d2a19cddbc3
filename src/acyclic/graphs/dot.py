r"""DOT and DAGitty text: the two share one grammar of names, arrows and attributes.

In a quoted name ``\"``, ``\\``, ``\n`` and ``\xHH`` (a control character) stand for one character; any other
backslash stands for itself. Graphviz shows such names as they are meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product
from math import isfinite

from acyclic.errors import InputError, show_name
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
_DIRECTED_ONLY = "a DAG has only directed edges, written ->"
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\", "\n": ""}


def write_dot(graph: EdgeList, undecided: Collection[tuple[str, str]] = ()) -> str:
    """Write DOT for Graphviz: nodes in order, then edges with a short label and the exact ``beta``.

    The weight is not called ``weight``, which Graphviz takes for a layout strength and refuses if negative. An
    equivalence class is the digraph ``cpdag``; its edges have no weights, and the undirected ones ``dir=none``. Edges
    of a DAG that are ``undecided`` say so and are drawn without a head; read back, they keep their place in the DAG.

    Examples
    --------
    >>> print(write_dot(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])), end="")
    digraph {
      "a";
      "b";
      "a" -> "b" [label="0.5", beta="0.5"];
    }
    """
    nodes = [f"  {_quote(name)};" for name in graph.names]
    edges = []
    for source, target, weight, directed in graph.edges:
        headless = ", arrowhead=none, undecided=true" if (source, target) in undecided else ""
        attributes = f' [label="{weight:.3g}", beta="{weight!r}"{headless}]'
        if graph.is_class:
            attributes = "" if directed else " [dir=none]"
        edges.append(f"  {_quote(source)} -> {_quote(target)}{attributes};")
    return "\n".join(["digraph cpdag {" if graph.is_class else "digraph {", *nodes, *edges, "}", ""])


def write_dagitty(graph: EdgeList) -> str:
    """Write DAGitty model code, each weight as the path coefficient ``beta``.

    An equivalence class is a ``pdag``: its edges have no weights, and the undirected ones are written ``--``.

    Examples
    --------
    >>> print(write_dagitty(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])), end="")
    dag {
    "a"
    "b"
    "a" -> "b" [beta="0.5"]
    }
    """
    edges = []
    for source, target, weight, directed in graph.edges:
        ends = f"{_quote(source)} {'->' if directed else '--'} {_quote(target)}"
        edges.append(ends if graph.is_class else f'{ends} [beta="{weight!r}"]')
    return "\n".join(["pdag {" if graph.is_class else "dag {", *map(_quote, graph.names), *edges, "}", ""])


def read_dot(text: str) -> EdgeList:
    """Read a DOT digraph; see `acyclic.graphs.formats.from_dot`."""
    return _Reader(text, "digraph").read()


def read_dagitty(text: str) -> EdgeList:
    """Read DAGitty model code; see `acyclic.graphs.formats.from_dagitty`."""
    return _Reader(text, "dag", "pdag").read()


def _quote(name: str) -> str:
    def escape(match: re.Match[str]) -> str:
        character = match[0]
        if character in '"\\':
            return "\\" + character
        return "\\n" if character == "\n" else f"\\x{ord(character):02x}"

    return f'"{_TO_ESCAPE.sub(escape, name)}"'


def _unquote(body: str) -> str:
    def unescape(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _UNESCAPED.get(match[2], match[0])

    return _ESCAPED.sub(unescape, body)


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


def _split_tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise InputError(f"line {line}: cannot read the text from {text[position : position + 20]!r} on")
        if match.lastgroup != "space":
            body = match[match.lastgroup]
            yield _Token(match.lastgroup, _unquote(body) if match.lastgroup == "quoted" else body, line)
        position = match.end()
        line += match[0].count("\n")
    yield _Token("end", "", line)


def _find_weight(attributes: Attributes, line: int) -> float:
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

    def __init__(self, text: str, *keywords: str) -> None:
        self.keywords, self.keyword, self.is_class = keywords, keywords[0], False
        self.tokens = list(_split_tokens(text))
        self.names: dict[str, None] = {}
        self.edges: dict[tuple[str, str], ListedEdge] = {}
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

    def read_name(self) -> str:
        self.expect(self.token.is_name, "a name")
        return self.advance().text

    def read(self) -> EdgeList:
        self.read_header()
        while not self.accept("}"):
            self.read_statement()
            self.accept(";")
        self.expect(self.token.kind == "end", "nothing after the graph")
        return EdgeList(list(self.names), list(self.edges.values()), self.is_class)

    def read_header(self) -> None:
        if self.token.word == "strict":
            self.advance()
        wanted = " or ".join(map(repr, self.keywords))
        self.expect(self.token.word in self.keywords, f"{wanted} at the start of the graph")
        self.keyword = self.advance().word
        name = self.advance().text if self.token.is_name else ""
        self.is_class = self.keyword == "pdag" or (self.keyword == "digraph" and name == "cpdag")
        self.expect(self.accept("{"), "'{'")

    def read_statement(self) -> None:
        keyword = self.read_keyword()
        if keyword:
            attributes = self.read_attributes()
            self.edge_defaults |= attributes if keyword == "edge" else {}
            return
        chain, arrows = [self.read_group()], []
        if self.accept("="):
            self.read_name()
            return
        while self.token.kind == "arrow":
            arrows.append(self.advance())
            chain.append(self.read_group())
        attributes = self.edge_defaults | self.read_attributes()
        self.names |= dict.fromkeys(name for group in chain for name in group)
        for arrow, left, right in zip(arrows, chain, chain[1:]):
            self.connect(arrow, left, right, attributes)

    def read_keyword(self) -> str | None:
        """Consume and give the word of a DOT statement that sets defaults."""
        word = self.token.word if self.keyword == "digraph" else ""
        if word == "subgraph":
            self.expect(False, "nodes and edges (subgraphs are not supported)")
        if word not in ("graph", "node", "edge"):
            return None
        self.advance()
        self.expect(self.token.text == "[", f"'[' after {word} (quote it if it is the name of a node)")
        return word

    def read_group(self) -> list[str]:
        """Read one name, or several in braces."""
        if not self.accept("{"):
            return [self.read_name()]
        names = []
        while not self.accept("}"):
            names.append(self.read_name())
            self.accept(";", ",")
        return names

    def read_attributes(self) -> Attributes:
        found: Attributes = {}
        while self.accept("["):
            while not self.accept("]"):
                key = self.read_name()
                found[key] = self.read_name() if self.accept("=") else ""
                self.accept(",", ";")
        return found

    def connect(self, arrow: _Token, left: list[str], right: list[str], attributes: Attributes) -> None:
        weight, directed = _find_weight(attributes, arrow.line), self.is_directed(arrow, attributes)
        sources, targets = (right, left) if arrow.text == "<-" else (left, right)
        for source, target in product(sources, targets):
            if (source, target) in self.edges:
                edge = f"{show_name(source)} → {show_name(target)}"
                raise InputError(f"line {arrow.line}: the edge {edge} is given twice")
            self.edges[source, target] = ListedEdge(source, target, weight, directed)

    def is_directed(self, arrow: _Token, attributes: Attributes) -> bool:
        """Whether the edge has an arrowhead; an arrow that this graph cannot have is refused."""
        if arrow.text == "--" and self.keyword == "pdag":
            return False
        if arrow.text not in ("->", "<-"):
            kind = "a class has only edges written -> or --" if self.keyword == "pdag" else _DIRECTED_ONLY
            raise InputError(f"line {arrow.line}: {kind}, not {arrow.text}")
        if self.keyword != "digraph" or attributes.get("undecided") == "true":
            return True
        drawn = attributes.get("dir", "forward")
        if drawn in ("back", "both") and attributes.get("arrowtail") != "none":
            raise InputError(
                f"line {arrow.line}: dir={drawn} draws an arrowhead at the start of an edge; turn the edge round, "
                "or say dir=none if it has no direction"
            )
        return drawn in ("forward", "both") and attributes.get("arrowhead") != "none"

"""From text to tokens (NNEF 2.0 sections 2.4 and 2.16)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from tosajit.frontends.nnef.syntax.source import Faults, Span


class Kind(Enum):
    """Kinds of token, as messages call them."""

    NAME = "a name"
    KEYWORD = "a keyword"
    INTEGER = "an integer"
    REAL = "a real number"
    STRING = "a string"
    SYMBOL = "a symbol"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the language, and where it stands."""

    kind: Kind
    text: str
    start: int

    @property
    def stop(self) -> int:
        """The offset behind it."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.start, self.stop)

    def __str__(self) -> str:
        return self.kind.value if self.kind is Kind.END else f"`{self.text}`"


TYPE_NAMES = frozenset({"type", "arith", "num", "int", "real", "bool", "str"})
KEYWORDS = TYPE_NAMES | {
    "version", "extension", "import", "public", "operator", "graph", "optional", "true", "false", "inf", "pi",
    "if", "then", "elif", "else", "with", "for", "while", "do", "unroll", "yield",
}  # fmt: skip
WORD_OPERATORS = frozenset({"is", "in"})
"""Names that are operators behind an operand; the specification itself calls a shape `is`."""

BLOCKS = (
    "@dtype", "@attrib", "@input", "@output", "@constant", "@variable", "@using", "@assert", "@compose",
    "@lower", "@update", "@quantize",
)  # fmt: skip

_SYMBOLS = (
    "...", "<?=", ">?=", "..", "<=", ">=", "==", "!=", "&&", "||", "=>", "->", "<-", "<>", "??", "<?", ">?",
    ":=", "+=", "*=", "&=", "|=", "**", "+", "-", "*", "/", "\\", "%", "<", ">", "=", "!", "?", "^", "|",
    ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "~",
)  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f\v]+|\#[^\n]*)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*|@[a-z]*)
    |(?P<real>[0-9]+(?:\.(?!\.)[0-9]*)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<integer>[0-9]+)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<symbol>"""
    + "|".join(re.escape(symbol) for symbol in _SYMBOLS)
    + ")",
    re.VERBOSE,
)
_OTHER = re.compile(r"[^ \t\r\n]+?(?=[\s\w;,()\[\]{}]|$)")
_KINDS = {"real": Kind.REAL, "integer": Kind.INTEGER, "string": Kind.STRING, "symbol": Kind.SYMBOL}


def tokens_of(faults: Faults, start: int = 0, stop: int | None = None) -> list[Token]:
    """The tokens of a text, or of a part of it; the last one is its end."""
    text = faults.source.text
    stop = len(text) if stop is None else stop
    found: list[Token] = []
    while start < stop:
        match = _TOKEN.match(text, start, stop)
        if match is None:
            found.append(_stand_in(faults, start, stop))
            start = found[-1].stop
            continue
        start = match.end()
        match match.lastgroup:
            case "space":
                continue
            case "name":
                word = match.group()
                kind = Kind.KEYWORD if word in KEYWORDS or word[0] == "@" else Kind.NAME
                found.append(Token(kind, word, match.start()))
            case str(group):
                found.append(Token(_KINDS[group], match.group(), match.start()))
    found.append(Token(Kind.END, "", stop))
    return found


def _stand_in(faults: Faults, start: int, stop: int) -> Token:
    """Tell of letters that begin no token; what stands for them, so that the rest is read as it was meant."""
    text = faults.source.text
    if text[start] in "\"'":
        line = text.find("\n", start, stop)
        string = text[start : stop if line < 0 else line].rstrip("; \t\r)]},")
        token = Token(Kind.STRING, string if len(string) > 1 else string * 2, start)
        message, remedy = "the string is not closed on its line", f"close it with {text[start]}"
        faults.add(token.span, message, "2.4", remedy)
        return token
    match = _OTHER.match(text, start, stop)
    token = Token(Kind.NAME, match.group() if match else text[start], start)
    faults.add(token.span, f"{token.text!r} begins nothing in this language")
    return token

"""Text to syntax tree: the one door to the grammar, and the wording of its errors.

The grammar is in grammar.lark. Lark's LALR parser keeps its own stack, so text nested a million
deep costs memory, never recursion; who walks the tree bounds the depth. A parser error knows only
which tokens would have fitted; here it becomes a sentence about what the writer left out.
"""

from functools import cache
from importlib import resources
from typing import Literal

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from penstock.config.bounds import EXCERPT_CHARACTERS_MAX
from penstock.config.problems import ConfigError, Position, config_error, cut

END_OF_TEXT = "$END"

UNCLOSED = {
    '"': "the string that starts here is not closed: add the second '\"'",
    "'": 'the string that starts here is not closed: add the second "\'"',
    "(": "the text that starts here is not closed: end it with ')' alone on a line",
}

STRING_PLACES = {"DOUBLE_QUOTED", "QUOTED_KEY", "QUOTED_PATH"}

# The first row whose token would have fitted says what is missing; the order is from the most
# specific place to the least.
MISSING_AT_END: tuple[tuple[str, str], ...] = (
    ("WORD", "the last key has no value: add one after it"),
    ("PATH", "include needs the name of a file"),
    ("ELEMENT", "an array is not closed: add ']'"),
    ("LBRACKET", "the last key has no value: add one after it"),
    ("_RBRACKET", "an array or block is not closed: add ']' or '}'"),
    ("_RBRACE", "a block is not closed: add '}'"),
)
MISSING: tuple[tuple[str, str], ...] = (
    ("WORD", "expected a value, found {found}"),
    ("PATH", "include needs the name of a file, found {found}: put it in quotes"),
    ("ELEMENT", "expected a value or ']', found {found}"),
    ("KEY", "expected a key, found {found}"),
    ("LBRACKET", "the key above has no value: write one on its line, before {found}"),
    # Without the text: it may be the second half of a password.
    ("_NEWLINE", "expected the end of the line after the value: put text with blanks in quotes"),
)
FALLBACK = "unexpected {found}"


@cache
def grammar() -> Lark:
    text = resources.files("penstock.config").joinpath("grammar.lark").read_text("utf-8")
    return Lark(text, parser="lalr", lexer="contextual", start=["document", "setting"])


def parse(text: str, file: str, start: Literal["document", "setting"]) -> Tree[Token]:
    """The syntax tree of `text`; `file` stands in the messages."""
    if (nul := text.find("\0")) >= 0:
        raise config_error(position_at(text, nul, file), "a NUL byte: this is not a text file")
    try:
        return grammar().parse(text, start=start)
    except UnexpectedInput as error:
        raise explain(error, text, file) from None


def explain(error: UnexpectedInput, text: str, file: str) -> ConfigError:
    if isinstance(error, UnexpectedToken):
        at_end, fitting = error.token.type == END_OF_TEXT, set(error.expected)
    else:
        assert isinstance(error, UnexpectedCharacters)
        at_end, fitting = False, set(error.allowed)
    if at_end:
        rows, offset = MISSING_AT_END, len(text.rstrip())
    else:
        rows, offset = MISSING, error.pos_in_stream or 0
    position = position_at(text, offset, file)
    if not at_end and (unclosed := UNCLOSED.get(text[offset])) and fitting & STRING_PLACES:
        return config_error(position, unclosed)
    sentence = next((words for token, words in rows if token in fitting), FALLBACK)
    return config_error(position, sentence.replace("{found}", excerpt(text, offset)))


def excerpt(text: str, offset: int) -> str:
    """The word at `offset` as a reader sees it, cut to a bounded length."""
    rest = text[offset : offset + EXCERPT_CHARACTERS_MAX + 1]
    if rest[:1] in ("\r", "\n"):
        return "the end of the line"
    if not rest.strip():
        return "the end of the file"
    word = rest[0] if rest[0] in "{}[](),;=:" else rest.split()[0]
    return repr(cut(word))


def position_at(text: str, offset: int, file: str) -> Position:
    line_start = text.rfind("\n", 0, offset) + 1
    return Position(file, text.count("\n", 0, offset) + 1, offset - line_start + 1)


def position_of(token: Token, file: str) -> Position:
    assert token.line is not None and token.column is not None
    return Position(file, token.line, token.column)

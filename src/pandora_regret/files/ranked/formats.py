"""How ranked lists are written: JSON lines with a list per case, TREC runs and qrels, comments before a table."""

from __future__ import annotations

import atexit
import gzip
import json
import math
import os
import re
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from pandora_regret.candidates.reading import Truth
from pandora_regret.core.inputs import Fields, InputError, Remark, remark_on
from pandora_regret.files.file_errors import FileError, explained
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.source import head_of, peek
from pandora_regret.text import counted

ListKind: TypeAlias = Literal["order", "probability", "score"]

LIST_KEYS = ("forecast", "ranking", "candidates", "predictions", "found_files")  # what a line calls its list
OWN_KEYS = frozenset(LIST_KEYS) - {"forecast"}  # those that mean ranked lists, whatever else is asked
NAME_KEYS = ("label", "name", "diagnosis", "candidate")  # what an element calls its candidate
VALUE_KEYS: Mapping[str, ListKind] = {"probability": "probability", "score": "score"}
TRUTH_KEYS = ("truth", "y_true", "label", "target")
ID_KEYS = ("id", "ids", "case", "case_id", "instance_id")
COLUMN_SEPARATORS = ("\t", ",", ";")
COMMENT = re.compile(rb"[ \t]*[!#]")
GZIP = b"\x1f\x8b"
RUN_ENDING = re.compile(r"(\.(txt|run|trec|res|tsv))?(\.gz)?$", re.IGNORECASE)
TREC_VALUES = {6: "a run", 4: "qrels"}  # on a line


class Line(NamedTuple):
    """A line of a file, and who is told what is wrong with it."""

    path: str
    number: int  # from 1
    problems: Problems = RAISED

    def error(self, problem: str, fix: str, argument: str | None = None) -> FileError:
        """What is wrong with the line."""
        return FileError(problem, self.path, fix, f" line {self.number}", argument=argument, row=self.number - 1)

    def tell(self, error: InputError) -> None:
        """Tell what is wrong with the line."""
        self.problems.in_places(error, [f"line {self.number}"], rows=[self.number - 1])


@dataclass(frozen=True)
class ListRecord:
    """The list of one case."""

    id: str
    names: Sequence[str]
    values: Sequence[float]  # of each name, the highest first in a search
    kind: ListKind
    prices: Sequence[float] = ()  # of each name, or none
    truth: Truth | None = None
    facts: Mapping[str, str | None] = field(default_factory=dict)  # other values of the line, as text
    n_blank: int = 0  # elements without a name, left out
    line: int = 0  # on which it begins, from 1


def is_lists(path: str, key: str | None) -> bool:
    """Whether a file holds JSON lines with a list each, as its first line tells.

    Parameters
    ----------
    path
        The file.
    key
        What its lists are called, where that is said.
    """
    return _list_key(_first_object(path, head_of(path)), key) is not None


def names_own_lists(path: str) -> bool:
    """Whether a file's first line can only be a ranked list, which then need not be asked for.

    It is called as such lists are, or several names are true, or it is names in order or nothing at all.
    """
    values = _first_object(path, peek(path))
    key = _list_key(values, None)
    if key is None:
        return False
    if key in OWN_KEYS or isinstance(_of_keys(values, TRUTH_KEYS), list):
        return True
    listed = values[key]
    return isinstance(listed, list) and not any(isinstance(element, (dict, list)) for element in listed)


def _first_object(path: str, head: bytes) -> Fields:
    """The object on the first line of a file; empty where that holds none: whoever reads the file says so."""
    line = _plain_bytes(path, head).lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    if not line.startswith(b"{"):
        return {}
    try:
        return dict(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _list_key(values: Fields, key: str | None) -> str | None:
    """Which key of a line's object holds its list."""
    for name in (key,) if key is not None else LIST_KEYS:
        if isinstance(values.get(name), (list, dict)):
            return name
    return None


def _plain_bytes(path: str, head: bytes) -> bytes:
    """The first bytes of a file, whose head this is, decompressed if that is gzip; none where that is damaged."""
    if not head.startswith(GZIP):
        return head
    with suppress(EOFError, OSError, zlib.error), gzip.open(path) as file:
        return file.read(1 << 16)
    return b""


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The lines of a text file, numbered from 1; gzip is decompressed."""
    opened = gzip.open if head_of(path).startswith(GZIP) else open
    with explained(path, "text", zlib.error), opened(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeError:
                raise FileError("is not UTF-8 text", path, "save it as UTF-8", f" line {number}") from None


def read_list_records(
    path: str,
    id_key: str | None,
    list_key: str | None,
    value_keys: Mapping[str, ListKind] = VALUE_KEYS,
    problems: Problems = RAISED,
) -> list[ListRecord]:
    """The lists of JSON lines, each with its id, its truth if it has one, and what else the line says.

    Parameters
    ----------
    path
        The file.
    id_key, list_key
        What ids and lists are called; by one of their usual names unless given.
    value_keys
        What the values of elements are called, and what they are.
    problems
        Who is told what is wrong with lines.
    """
    records: list[ListRecord] = []
    n_lists = 0
    for number, text in _lines(path):
        if text.strip():
            n_lists += 1
            line = Line(path, number, problems)
            try:
                values = _object(text, line)
                records.append(_list_record(values, n_lists, id_key, list_key, value_keys, line))
            except FileError as error:
                line.tell(error)
    return records


def _object(text: str, line: Line) -> Fields:
    """The object of a line."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise line.error("is no JSON object", "write one object per line")
    return values


def _list_record(
    values: Fields,
    number: int,
    id_key: str | None,
    list_key: str | None,
    value_keys: Mapping[str, ListKind],
    line: Line,
) -> ListRecord:
    """The list of one case, from the object of its line; without an id it is called by its number."""
    key = _list_key(values, list_key)
    if key is None:
        named = list_key or ", ".join(LIST_KEYS)
        raise line.error(f"has no list ({named})", "write a list on every line", "candidate")
    case = values.get(id_key) if id_key is not None else _of_keys(values, ID_KEYS)
    if case is None and id_key is not None:
        line.tell(line.error(f"has no {id_key!r}", "give every line one", "id"))
    listed = _named(values[key])
    names, numbers, kind, prices = _elements(listed, value_keys, line)
    others = {name: value for name, value in values.items() if name != key}
    truth = _truth(_of_keys(others, TRUTH_KEYS), line)
    return ListRecord(
        id=str(number if case is None else case),
        names=names,
        values=numbers,
        kind=kind,
        prices=prices,
        truth=truth,
        facts={name: str(value) for name, value in others.items() if isinstance(value, (str, int, float))},
        n_blank=len(values[key]) - len(listed),
        line=line.number,
    )


def _named(listed: list[object] | Fields) -> list[object] | Fields:
    """A list without blank names, which answers have that were split at the ends of their lines."""
    if isinstance(listed, dict):
        return {name: value for name, value in listed.items() if name.strip()}
    return [element for element in listed if not isinstance(element, str) or element.strip()]


def _of_keys(values: Fields, keys: Sequence[str]) -> object:
    """The value of the first of these keys that has one."""
    for key in keys:
        if values.get(key) is not None:
            return values[key]
    return None


def _truth(value: object, line: Line) -> Truth | None:
    """What is true of a line: a name, or several."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [str(name) for name in value]
    if isinstance(value, (str, int)):
        return str(value)
    line.tell(line.error(f"has the truth {value!r:.40}", "write a name, or a list of names", "truth"))
    return []


def _elements(
    listed: list[object] | Fields, value_keys: Mapping[str, ListKind], line: Line
) -> tuple[list[str], list[float], ListKind, list[float]]:
    """Names, values, what these are, and prices of a list: names in order, values by name, or objects."""
    if isinstance(listed, dict):
        kind: ListKind = "score" if set(value_keys.values()) == {"score"} else "probability"
        return list(listed), [_number(value, kind, line) for value in listed.values()], kind, []
    elements: list[_Element] = []
    for element in listed:
        try:
            elements.append(_element(element, value_keys, line))
        except FileError as error:
            line.tell(error)
    kinds = {element.kind for element in elements}
    if len(kinds) > 1:
        raise line.error("has a list of which some have values", "give all of them one, or none", "candidate")
    prices = [element.price for element in elements if element.price is not None]
    if 0 < len(prices) < len(elements):
        raise line.error("has a list of which some have prices", "give all of them one, or none", "price")
    names = [element.name for element in elements]
    if kinds <= {"order"}:
        return names, [float(-place) for place in range(len(names))], "order", prices
    return names, [element.value for element in elements], kinds.pop(), prices


class _Element(NamedTuple):
    """One candidate of a list."""

    name: str
    kind: ListKind
    value: float  # 0 where it has none
    price: float | None


def _element(element: object, value_keys: Mapping[str, ListKind], line: Line) -> _Element:
    """A candidate as a list holds it: its name, or an object with a name."""
    if isinstance(element, (str, int)) and not isinstance(element, bool):
        return _Element(str(element), "order", 0.0, None)
    name = _of_keys(element, NAME_KEYS) if isinstance(element, dict) else None
    if not isinstance(element, dict) or not isinstance(name, (str, int)):
        fix = f"write names, or objects with a {' or '.join(NAME_KEYS)}"
        raise line.error(f"has the candidate {element!r:.40}", fix, "candidate")
    price = element.get("price")
    own_price = None if price is None else _number(price, "price", line)
    for key, kind in value_keys.items():
        if element.get(key) is not None:
            return _Element(str(name), kind, _number(element[key], kind, line), own_price)
    return _Element(str(name), "order", 0.0, own_price)


def _number(value: object, argument: str, line: Line) -> float:
    """A number of a list; 1 in place of what is none, once that was told."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        line.tell(line.error(f"holds the value {value!r:.40}", "write a number", argument))
        return 1.0
    return float(value)


def stem_of_run(path: str) -> str:
    """A run's name without its usual ending, by which its model is called."""
    return RUN_ENDING.sub("", os.path.basename(path)) or os.path.basename(path)


def read_trec(path: str, problems: Problems = RAISED) -> list[ListRecord]:
    """The lists of a TREC run: topic, Q0, document, rank, score and the run's name on each line."""
    by_topic: dict[str, tuple[list[str], list[float]]] = {}
    is_blank = True
    for number, text in _lines(path):
        line = Line(path, number, problems)
        is_blank = is_blank and not text.strip()
        try:
            values = _trec_values(text, 6, line)
            if values is None:
                continue
            topic, _, document, _, score, _ = values
            number_of_score = _trec_number(score, "score", line)
        except FileError as error:
            line.tell(error)
            continue
        names, scores = by_topic.setdefault(topic, ([], []))
        names.append(document)
        scores.append(number_of_score)
    if is_blank:
        raise FileError("has no rows", path, "write a line per topic and document")
    return [ListRecord(topic, names, scores, "score") for topic, (names, scores) in by_topic.items()]


def read_qrels(path: str) -> dict[str, Truth]:
    """The documents that are relevant to each topic: topic, iteration, document and relevance on each line.

    A document is relevant from 1 on; 0 and less, such as -2 for spam, is not.
    """
    truths: dict[str, list[str]] = {}
    for number, text in _lines(path):
        line = Line(path, number)
        values = _trec_values(text, 4, line)
        if values is None:
            continue
        topic, _, document, relevance = values
        documents = truths.setdefault(topic, [])
        if _trec_number(relevance, "relevance", line) > 0:
            documents.append(document)
    return dict(truths)


def _trec_number(text: str, name: str, line: Line) -> float:
    """A number on a line."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise line.error(f"has the {name} {text!r}", "write a number", name)
    return number


def _trec_values(text: str, expected: int, line: Line) -> list[str] | None:
    """The values of a line, None of an empty one."""
    values = text.split()
    if not values:
        return None
    if len(values) != expected:
        problem = f"has {len(values)} values, and {TREC_VALUES[expected]} has {expected}"
        raise line.error(problem, "separate them by spaces, without a header")
    return values


def without_comments(path: str) -> tuple[str, tuple[Remark, ...]]:
    """A file that holds a table without the lines that begin with ! or #; the same file where there are none.

    The last of the lines before the table is its header, where that begins with # and has as many values as the
    line that follows, or no line follows.
    """
    if not COMMENT.match(_plain_bytes(path, head_of(path))):
        return path, ()
    kept: list[str] = []
    skipped: list[str] = []
    for _, line in _lines(path):
        if not line.lstrip().startswith(("!", "#")):
            if not kept and skipped and _is_header(skipped[-1], line):
                kept.append(skipped.pop().lstrip().removeprefix("#"))
            kept.append(line)
        else:
            skipped.append(line)
    if not kept and _has_separator(skipped[-1]) and skipped[-1].lstrip().startswith("#"):
        kept.append(skipped.pop().lstrip().removeprefix("#"))  # the header of a table without rows
    if not kept:
        raise FileError(
            "holds nothing but comments", path, "write a row per candidate, or the names of columns alone"
        )
    plain = os.path.join(_folder(), f"{len(os.listdir(_folder()))}-{os.path.basename(path).removesuffix('.gz')}")
    with open(plain, "w", encoding="utf-8") as file:
        file.writelines(kept)
    return plain, remark_on(
        "lines skipped", len(skipped), f"{counted(len(skipped), 'comment line')} of {path} skipped"
    )


def _has_separator(line: str) -> bool:
    """Whether a line holds more than one value."""
    return any(separator in line for separator in COLUMN_SEPARATORS)


def _is_header(comment: str, line: str) -> bool:
    """Whether a line that begins with # names the columns of the next line."""
    for separator in COLUMN_SEPARATORS:
        if comment.count(separator) and comment.count(separator) == line.count(separator):
            return comment.lstrip().startswith("#")
    return False


@cache
def _folder() -> str:
    """Where tables without comments are kept while the program runs."""
    folder = tempfile.mkdtemp(prefix="pandora-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder

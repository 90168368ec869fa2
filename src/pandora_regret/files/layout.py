"""What callers say of prediction files: how they are written, which column is what, and which hold which model.

Models are listed as a person does, ``"Deep net=deepnet.csv"``, or in a TOML file that has one table per model, and
what it leaves out is as for all models::

    truth = "cases.csv"             # where prediction files have no labels

    [[models]]
    name = "Deep net"
    path = "deepnet_*.csv"          # a file, a list of files, or a pattern; relative to this file
    label = "diagnosis"
    proba_prefix = "logit_"
    logits = true

    [[models]]
    name = "Vendor A"
    path = "vendor.xlsx"
    sheet = "Export"
    columns = { Appendicitis = "P(app)", Hernia = "P(her)" }
"""

from __future__ import annotations

import codecs
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic

from pandora_regret.core.inputs import Fields, InputError, Names
from pandora_regret.core.records import check_keys, from_plain, read_toml
from pandora_regret.files.limits import read_bytes
from pandora_regret.files.source import Source

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
NO_LETTER = r"[^a-zA-Z0-9\"\n\r.\0\x80-\U0010ffff]"  # what can stand between values
SEPARATOR_WORDS = {word: mark for mark, word in SEPARATORS.items()} | {"\\t": "\t"}
DECIMAL_WORDS = {"point": ".", "comma": ","}


@dataclass(frozen=True)
class Dialect:
    """How a file is to be read; None: as it is recognised.

    Parameters
    ----------
    separator
        What stands between values: ``,``, ``;``, ``|`` or another character, or ``comma``, ``semicolon``, ``tab``
        or ``pipe`` in words.
    decimal
        The decimal sign of numbers in text, ``.`` or ``,``, or ``point`` or ``comma`` in words.
    encoding
        Of text, such as ``utf-16`` or ``latin-1``.
    sheet
        Of a spreadsheet: its name, or its number counted from 1; the first unless said.
    other
        The class that stands for everything that a row's list of candidates does not name.
    max_memory
        How many bytes a file may take in memory, as a number or such as ``16GB``; unless said, a hundred times its
        size, and 2 GB at least.

    Examples
    --------
    >>> Dialect(separator="semicolon", decimal="comma", encoding="Latin1")
    Dialect(separator=';', decimal=',', encoding='iso8859-1', sheet=None, other=None, max_memory=None)
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    other: str | None = None
    max_memory: int | str | None = None

    def __post_init__(self) -> None:
        separator = SEPARATOR_WORDS.get(self.separator or "", self.separator)
        decimal = DECIMAL_WORDS.get(self.decimal or "", self.decimal)
        encoding = self.encoding
        if separator and not re.fullmatch(NO_LETTER, separator):
            fix = "write one character, such as ; or |, or one of the words comma, semicolon, tab and pipe"
            raise InputError(argument="separator", value=self.separator, fix=fix)
        if decimal not in (None, *DECIMAL_WORDS.values()):
            raise InputError(argument="decimal", value=decimal, fix="write . or , (or point or comma)")
        if separator is not None and separator == decimal:
            problem = f"is {separator!r} and so is the decimal sign"
            raise InputError(problem, argument="separator", value=separator, fix="they must differ")
        if encoding is not None:
            try:
                "".encode(encoding)  # refuses names that are no encodings of text
            except (LookupError, ValueError):
                fix = "write such as utf-8, utf-16 or latin-1"
                raise InputError(argument="encoding", value=encoding, fix=fix) from None
            encoding = codecs.lookup(encoding).name.replace("utf-8-sig", "utf-8")
        if self.max_memory is not None:
            read_bytes(self.max_memory)
        self.__dict__.update(separator=separator, decimal=decimal, encoding=encoding)

    @property
    def most_bytes(self) -> int | None:
        """How many bytes a file may take in memory, where that is said."""
        return None if self.max_memory is None else read_bytes(self.max_memory)


RECOGNISED = Dialect()


@dataclass(frozen=True)
class Layout:
    """Which column is what; None: found by its usual name, where there is one.

    Parameters
    ----------
    label
        The column of true classes, names or column numbers; ``y_true``, ``label`` or ``target``.
    proba_prefix
        What the names of the forecasts' columns begin with, before the name of the class.
    id, weight, group, model
        Columns of row ids (``id``), of sample weights (``weight`` or ``sample_weight``), of clusters such as
        patients (only where said), and, where several models share a file, of their names (``model``).
    votes_prefix
        What the names of the columns with votes begin with, before the name of the class: how many annotators, or
        with what probability, said that class. They take the place of a column of true classes.
    cost_prefix
        What the names of the columns with each row's own typical costs begin with, before the name of the class.
    logits
        Whether the forecasts are logits.
    by
        Columns that results are broken down by, such as a site; those that a file has of them are read.
    normalise
        Whether rows of probabilities whose sum is off 1 by at most 1 % are divided by it, which is counted.
    columns
        The column of each class, by the class's name, where no prefix tells.
    truth
        A file of its own with ids, true classes, and the columns for `by`, `group` and `weight` (and votes): the
        others then need only ids and forecasts.
    ids_as_numbers
        Whether ids that are whole numbers are read as such: 007 and 7.0 are 7.
    missing_class_zero
        Whether a class for which a file has no forecasts has probability 0 there.
    common_rows
        Whether rows that not all files have are left out; None where nobody could say so.
    classes
        The names of the classes. Without them, and without a prefix, every column of numbers that is nothing else
        must be a class that occurs among the labels.
    dialect
        How the file is written, where that is not to be recognised.

    The classes' order is that of the file's columns.
    """

    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    votes_prefix: str | None = None
    cost_prefix: str | None = None
    logits: bool = False
    by: Names = ()
    classes: Names | None = None
    dialect: Dialect = RECOGNISED
    normalise: bool = False
    unlabelled: bool = False  # whether labels may be missing
    columns: Mapping[str, str] | None = None
    truth: str | Source | None = None
    ids_as_numbers: bool = False
    missing_class_zero: bool = False
    common_rows: bool | None = None

    def of_format(self, source: Source) -> Layout:
        """The layout, with what a file's format leaves no choice about; a label that is asked for goes first."""
        return replace(self, **source.layout | {"label": self.label or source.layout.get("label")})


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model, parts of one table, and how they are read."""

    paths: tuple[str | Source, ...]  # a table in memory is a source already
    layout: Layout
    name: str | None = None  # None: as the files call it


@dataclass(frozen=True, kw_only=True)
class ModelEntry(Dialect):
    """A ``[[models]]`` table; None: as for all models."""

    name: str
    path: str | Names
    label: str | None = None
    id: str | None = None
    proba_prefix: str | None = None
    columns: dict[str, str] | None = None
    logits: bool | None = None
    ids_as_numbers: bool | None = None
    missing_class_zero: bool | None = None

    def files(self, defaults: Layout, folder: str) -> ModelFiles:
        """The same with what it leaves out, and the files that patterns name in order of their names."""
        paths = list[str]()
        for pattern in (self.path,) if isinstance(self.path, str) else self.path:
            whole = os.path.join(folder, pattern)
            paths += sorted(glob(whole)) if has_magic(pattern) and not os.path.exists(whole) else [whole]
        if not paths:
            problem = (
                f"of model {self.name!r} is {self.path!r}, and no file is called like that in {folder or '.'}"
            )
            raise InputError(problem, argument="path", value=self.path, fix="correct it")
        return ModelFiles(tuple(paths), self._layout(defaults), self.name)

    def _layout(self, defaults: Layout) -> Layout:
        """The layout of this model: what is stated here, else as for all models."""
        written = Fields(
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            sheet=self.sheet,
            other=self.other,
            max_memory=self.max_memory,
        )
        settings = Fields(
            label=self.label,
            id=self.id,
            proba_prefix=self.proba_prefix,
            columns=self.columns,
            logits=self.logits,
            ids_as_numbers=self.ids_as_numbers,
            missing_class_zero=self.missing_class_zero,
        )
        dialect = replace(defaults.dialect, **_stated(written))
        if self.columns:  # which take the place of a prefix that is meant for all
            defaults = replace(defaults, proba_prefix=None)
        return replace(defaults, dialect=dialect, **_stated(settings))


def _stated(settings: Fields) -> Fields:
    """The settings that are not None."""
    return {name: value for name, value in settings.items() if value is not None}


@dataclass(frozen=True)
class ModelsFile:
    """A TOML file of models."""

    models: tuple[ModelEntry, ...]
    truth: str | None = None


def read_models_argument(texts: Sequence[str], layout: Layout) -> list[ModelFiles]:
    """Models as a command's arguments name them: a file, ``NAME=FILE``, or a TOML file that describes several.

    Parameters
    ----------
    texts
        The arguments.
    layout
        Of all models, as far as a TOML file says nothing else.

    Returns
    -------
    list of ModelFiles
        One for each model.

    Examples
    --------
    >>> [(one.name, one.paths) for one in read_models_argument(["Deep net=deep.csv", "forest.csv"], Layout())]
    [('Deep net', ('deep.csv',)), (None, ('forest.csv',))]
    """
    models: list[ModelFiles] = []
    for text in texts:
        name, equals, path = text.partition("=")
        if equals and name.strip() and not os.path.exists(text):
            models.append(ModelFiles((path,), layout, name.strip()))
        elif text.lower().endswith(".toml"):
            models += _read_models_file(text, layout)
        else:
            models.append(ModelFiles((text,), layout))
    times = Counter(model.name for model in models)
    twice = next((name for name, n in times.items() if name and n > 1), None)
    if twice is not None:
        raise InputError(f"two files are called {twice}", place="", fix="give each model a name of its own")
    truth = next((model.layout.truth for model in models if model.layout.truth is not None), None)
    return [replace(model, layout=replace(model.layout, truth=truth)) for model in models]


def _read_models_file(path: str, layout: Layout) -> list[ModelFiles]:
    """The models that a TOML file describes."""
    fix = "write one [[models]] table per model, with name and path"
    content = read_toml(path, fix)
    folder = os.path.dirname(path)
    try:
        if not content.get("models"):
            raise InputError("lists no models", fix=fix)
        check_keys(ModelsFile, content, "")
        listed = from_plain(ModelsFile, content, "")
        if listed.truth is not None and layout.truth is None:
            layout = replace(layout, truth=os.path.join(folder, listed.truth))
        return [entry.files(layout, folder) for entry in listed.models]
    except InputError as error:
        raise error.within(path) from None

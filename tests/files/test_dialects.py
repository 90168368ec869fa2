"""Text as people write it: separators, decimal commas, encodings, compression, standard input; and workbooks."""

import gzip
import io
import sys

import numpy as np
import pytest
from prediction_files import CLASSES, inspect_file, opened, refused, table, text_file, whole, write_xlsx

from pandora_regret.core.inputs import InputError
from pandora_regret.files import FileError, Layout, open_predictions
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.formats import open_source

ROWS = [("id", "y_true", "Grippe", "Erkältung"), (1, "Grippe", 0.25, 0.75), (2, "Erkältung", 0.125, 0.875)]


def csv_text(separator=",", decimal=".", rows=ROWS):
    return "\n".join(separator.join(str(cell).replace(".", decimal) for cell in row) for row in rows) + "\n"


def said(path, **dialect):
    return [done.sentence for done in opened(path, dialect=Dialect(**dialect)).done]


@pytest.mark.parametrize(
    ("separator", "decimal", "encoding", "says"),
    [
        (",", ".", "utf-8", None),
        (",", ".", "utf-8-sig", None),
        (";", ",", "utf-8-sig", "semicolons between values and decimal commas"),
        (";", ".", "utf-8", "semicolons between values"),
        ("\t", ",", "utf-16", "tabs between values and decimal commas and the encoding UTF-16"),
        ("|", ".", "latin-1", "pipes between values and the encoding Latin-1"),
        (",", ".", "utf-32", "the encoding UTF-32"),
    ],
)
def test_how_text_is_written_is_recognised_and_said(tmp_path, separator, decimal, encoding, says):
    path = text_file(tmp_path, csv_text(separator, decimal).encode(encoding))
    batch = whole(path)
    assert batch.classes == ("Grippe", "Erkältung")
    np.testing.assert_array_equal(batch.values, [[0.25, 0.75], [0.125, 0.875]])
    assert batch.ids.tolist() == [1, 2]
    assert said(path) == ([] if says is None else [f"{path} read with {says}"])
    assert inspect_file(path, Layout())[0].fine


def test_the_line_that_tells_excel_the_separator_is_no_row(tmp_path):
    path = text_file(tmp_path, "sep=;\n" + csv_text(";", ","))
    np.testing.assert_array_equal(whole(path).values, [[0.25, 0.75], [0.125, 0.875]])
    assert whole(path).place(0) == f"{path} line 3"


def test_options_overrule_what_would_be_recognised(tmp_path):
    path = text_file(tmp_path, "y_true;a,b\na;0.5,0.5\nb;0.5,0.5\n")
    assert "--separator comma or semicolon" in refused(path)
    assert list(open_source(path, dialect=Dialect(separator=";")).kinds) == ["y_true", "a,b"]
    assert list(open_source(path, dialect=Dialect(separator="comma")).kinds) == ["y_true;a", "b"]
    latin = text_file(tmp_path, csv_text().encode("latin-1"))
    assert whole(latin, dialect=Dialect(encoding="mac-roman")).classes == ("Grippe", "Erk‰ltung")
    assert "cannot be read" in refused(latin, dialect=Dialect(encoding="ascii"))
    message = refused(latin, dialect=Dialect(encoding="utf-16"))  # which needs a mark
    assert "cannot be read" in message
    assert "--encoding" in message


@pytest.mark.parametrize(
    ("text", "dialect", "says"),
    [
        ("y_true;a;b\na;0,5;0.5\n", {}, "has numbers such as 0,5 and 0.5: say which"),
        (
            "y_true;a;b\nb;0,5;0.5\n",
            {"decimal": ","},
            "column 'b' holds '0.5': write a number with a decimal comma",
        ),
        ('y_true,a,b\na,"0,5",0.5\n', {}, "column 'a' holds '0,5': write a number with a decimal point"),
        ("y_true;a;b\na;1.000,5;0,5\n", {}, "holds '1.000,5': write a number"),
        ("y_true;a;b\na;0,5;0,5;1\n", {}, "line 2 has 4 values"),
        ("y_true;a;b\nb;0,5;0,5\na;0,5;0,4\n", {}, "line 3 sums to 0.9"),
    ],
)
def test_marks_that_do_not_fit_are_named(tmp_path, text, dialect, says):
    assert says in refused(text_file(tmp_path, text), dialect=Dialect(**dialect))


def test_numbers_that_can_be_read_in_two_ways_are_refused_unless_another_settles_it(tmp_path):
    text = "y_true;a;b;weight\na;1;0;1,250\nb;0;1;2,500\n"
    with pytest.raises(FileError) as caught:
        whole(text_file(tmp_path, text))
    assert (caught.value.argument, caught.value.value) == ("decimal", "1,250")
    said_so = whole(text_file(tmp_path, text), dialect=Dialect(decimal="comma"))
    assert said_so.weights.tolist() == [1.25, 2.5]
    for settling in ("0,750", "12,50", "1,2505", ",5"):
        read = whole(text_file(tmp_path, text.replace("2,500", settling)))
        assert read.weights.tolist() == [1.25, float(settling.replace(",", "."))]


@pytest.mark.parametrize(
    ("dialect", "says"),
    [
        ({"separator": "ab"}, "separator is 'ab': write one character"),
        ({"separator": '"'}, "separator is"),
        ({"decimal": ";"}, "decimal is ';': write . or ,"),
        ({"separator": ",", "decimal": ","}, "they must differ"),
        ({"encoding": "klingon"}, "encoding is 'klingon'"),
        ({"encoding": "base64"}, "encoding is 'base64'"),
    ],
)
def test_a_dialect_is_checked(dialect, says):
    with pytest.raises(InputError, match=says):
        Dialect(**dialect)


def test_standard_input_is_recognised_by_content(monkeypatch, tmp_path):
    lines = '{"id": 1, "y_true": "a", "a": 0.5, "b": 0.5}\n'
    for text in (csv_text(), csv_text(";", ","), csv_text("\t")):
        for content in (text.encode(), gzip.compress(text.encode()), text.encode("utf-16")):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            assert whole("-").ids.tolist() == [1, 2]
            assert opened("-").name == "standard input"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert whole("-", classes=("a", "b")).ids.tolist() == [1]
    for content, says in (
        (b"", "is empty"),
        (b"y_true,a\na,1\n", "has 1 forecast"),
        (b"PAR1....", "is no text"),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert refused("-").startswith(f"standard input {says}")


def test_sheets_are_chosen_by_name_or_number_and_said(tmp_path):
    columns = table()
    rows = [("note",), ("nothing here",)]
    body = [list(columns), [], *zip(*(np.asarray(of).tolist() for of in columns.values()), strict=True)]
    path = write_xlsx(tmp_path / "book.xlsx", {"Predictions": body, "Notes": rows, "3": body})
    for sheet in (None, "Predictions", 1, "1", "3", 3):
        values = whole(path, dialect=Dialect(sheet=sheet)).values
        np.testing.assert_allclose(values, np.array([columns[name] for name in CLASSES]).T, rtol=1e-15)
    assert said(path) == [f"{path}: sheet 'Predictions' read, of 3"]
    assert said(path, sheet=3) == [f"{path}: sheet '3' read, of 3"]
    assert "has no sheet 'Prices' among 'Predictions', 'Notes' and '3'" in refused(
        path, dialect=Dialect(sheet="Prices")
    )
    assert "--sheet" in refused(path, dialect=Dialect(sheet=7))
    assert "no label column" in refused(path, dialect=Dialect(sheet="Notes"))


def test_rows_of_a_sheet_are_called_as_excel_does(tmp_path):
    rows = [[], ("id", "y_true", "a", "b"), (1, "a", 0.5, 0.5), [], (2, "b", "x", 0.5)]
    path = write_xlsx(tmp_path / "book.xlsx", {"p": rows})
    assert "book.xlsx row 5, column 'a' holds 'x'" in refused(path, classes=("a", "b"))
    rows[-1] = (2, "b", 0.4, 0.5)
    assert "book.xlsx row 5 sums to 0.9" in refused(write_xlsx(tmp_path / "book.xlsx", {"p": rows}))
    rows[-1] = (2, "b", None, 0.5)
    assert "row 5, column 'a' has no value" in refused(write_xlsx(tmp_path / "book.xlsx", {"p": rows}))


def test_without_calamine_one_line_says_what_to_install(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "book.xlsx", {"p": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(
        ImportError, match=r"python_calamine is not installed: pip install 'pandora-regret\[excel\]'"
    ):
        open_predictions(path)

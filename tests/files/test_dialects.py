"""Text as people write it: separators, decimal commas, encodings, compression, standard input; and workbooks."""

import gzip
import io
import sys

import numpy as np
import pytest
from prediction_files import (
    CLASSES,
    cell_of,
    inspect_file,
    opened,
    refusal,
    refused,
    remark_of,
    table,
    text_file,
    whole,
    write_xlsx,
)

from pandora_regret.core.inputs import InputError
from pandora_regret.files import FileError, Layout, open_predictions
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.formats import open_source

ROWS = [("id", "y_true", "Grippe", "Erkältung"), (1, "Grippe", 0.25, 0.75), (2, "Erkältung", 0.125, 0.875)]


def csv_text(separator=",", decimal=".", rows=ROWS):
    return "\n".join(separator.join(str(cell).replace(".", decimal) for cell in row) for row in rows) + "\n"


def said(path, **dialect):
    return [remark.sentence for remark in opened(path, dialect=Dialect(**dialect)).remarks]


@pytest.mark.parametrize(
    ("separator", "decimal", "encoding", "says"),
    [
        (",", ".", "utf-8", None),
        (",", ".", "utf-8-sig", None),
        (";", ",", "utf-8-sig", ["semicolons", "decimal commas"]),
        (";", ".", "utf-8", ["semicolons"]),
        ("\t", ",", "utf-16", ["tabs", "decimal commas", "UTF-16"]),
        ("|", ".", "latin-1", ["pipes", "Latin-1"]),
        (",", ".", "utf-32", ["UTF-32"]),
    ],
)
def test_how_text_is_written_is_recognised_and_said(tmp_path, separator, decimal, encoding, says):
    path = text_file(tmp_path, csv_text(separator, decimal).encode(encoding))
    batch = whole(path)
    assert batch.classes == ("Grippe", "Erkältung")
    np.testing.assert_array_equal(batch.values, [[0.25, 0.75], [0.125, 0.875]])
    assert batch.ids.tolist() == [1, 2]
    assert [remark_of(remark) for remark in opened(path).remarks] == [("dialect", 1, path)] * (says is not None)
    for word in ("semicolons", "tabs", "pipes", "decimal commas", "UTF-16", "UTF-32", "Latin-1"):
        assert (word in "".join(said(path))) == (word in (says or []))
    assert inspect_file(path, Layout())[0].fine


def test_the_line_that_tells_excel_the_separator_is_no_row(tmp_path):
    path = text_file(tmp_path, "sep=;\n" + csv_text(";", ","))
    np.testing.assert_array_equal(whole(path).values, [[0.25, 0.75], [0.125, 0.875]])
    assert whole(path).place(0) == f"{path} line 3"


def test_options_overrule_what_would_be_recognised(tmp_path):
    path = text_file(tmp_path, "y_true;a,b\na;0.5,0.5\nb;0.5,0.5\n")
    assert refusal(path).argument == "separator"
    assert list(open_source(path, dialect=Dialect(separator=";")).kinds) == ["y_true", "a,b"]
    assert list(open_source(path, dialect=Dialect(separator="comma")).kinds) == ["y_true;a", "b"]
    latin = text_file(tmp_path, csv_text().encode("latin-1"))
    assert whole(latin, dialect=Dialect(encoding="mac-roman")).classes == ("Grippe", "Erk‰ltung")
    assert "cannot be read" in refused(latin, dialect=Dialect(encoding="ascii"))
    message = refused(latin, dialect=Dialect(encoding="utf-16"))  # which needs a mark
    assert "cannot be read" in message
    assert "--encoding" in message


@pytest.mark.parametrize(
    ("text", "dialect", "line", "cell", "fix"),
    [
        ("y_true;a;b\na;0,5;0.5\n", {}, None, (None, None, None), "--decimal"),
        ("y_true;a;b\nb;0,5;0.5\n", {"decimal": ","}, 2, (0, "b", "0.5"), "decimal comma"),
        ('y_true,a,b\na,"0,5",0.5\n', {}, 2, (0, "a", "0,5"), "decimal point"),
        ("y_true;a;b\na;1.000,5;0,5\n", {}, 2, (0, "a", "1.000,5"), "number"),
        ("y_true;a;b\na;0,5;0,5;1\n", {}, 2, (0, None, 4), "separator"),
        ("y_true;a;b\nb;0,5;0,5\na;0,5;0,4\n", {}, 3, (1, None, pytest.approx(0.9)), ""),
    ],
)
def test_marks_that_do_not_fit_are_named(tmp_path, text, dialect, line, cell, fix):
    error = refusal(text_file(tmp_path, text), dialect=Dialect(**dialect))
    assert cell_of(error) == cell
    assert error.where.partition(",")[0] == ("" if line is None else f" line {line}")
    assert fix in error.fix


def test_numbers_that_can_be_read_in_two_ways_are_refused_unless_another_settles_it(tmp_path):
    text = "y_true;a;b;weight\na;1;0;1,250\nb;0;1;2,500\n"
    with pytest.raises(FileError) as caught:
        whole(text_file(tmp_path, text))
    assert (caught.value.argument, caught.value.value) == ("decimal", "1,250")
    said_so = whole(text_file(tmp_path, text), dialect=Dialect(decimal="comma"))
    assert said_so.weights.tolist() == [1.25, 2.5]
    error = refusal(text_file(tmp_path, text), dialect=Dialect(decimal="point"))
    assert cell_of(error) == (0, "weight", "1,250")
    as_note = whole(text_file(tmp_path, text.replace("weight", "note")), dialect=Dialect(decimal="point"))
    assert as_note.values.tolist() == [[1, 0], [0, 1]]  # what is not read need not be a number
    for settling in ("0,750", "12,50", "1,2505", ",5"):
        read = whole(text_file(tmp_path, text.replace("2,500", settling)))
        assert read.weights.tolist() == [1.25, float(settling.replace(",", "."))]


def test_points_between_semicolons_can_be_read_in_two_ways_too(tmp_path):
    text = "y_true;a;b;weight\na;1;0;1.250\nb;0;1;2.500\n"
    error = refusal(text_file(tmp_path, text))
    assert (error.argument, error.value) == ("decimal", "1.250")
    said_so = whole(text_file(tmp_path, text), dialect=Dialect(decimal="point"))
    assert said_so.weights.tolist() == [1.25, 2.5]
    for settling in ("0.750", "12.50", "1.2505", ".5"):
        read = whole(text_file(tmp_path, text.replace("2.500", settling)))
        assert read.weights.tolist() == [1.25, float(settling)]
    with_commas = whole(text_file(tmp_path, text.replace(";", ",")))
    assert with_commas.weights.tolist() == [1.25, 2.5]  # commas stand between values, not before decimals


def test_a_number_of_two_readings_among_others_with_points_is_refused_with_both(tmp_path):
    text = 'y_true,a,b,weight\na,0.75,0.25,"1,125"\nb,0.25,0.75,"2,500"\n'
    error = refusal(text_file(tmp_path, text))
    assert cell_of(error) == (0, "weight", "1,125")
    assert "1125 or as 1.125" in error.problem


@pytest.mark.parametrize(
    ("dialect", "argument", "value"),
    [
        ({"separator": "ab"}, "separator", "ab"),
        ({"separator": '"'}, "separator", '"'),
        ({"decimal": ";"}, "decimal", ";"),
        ({"separator": ",", "decimal": ","}, "separator", ","),
        ({"encoding": "klingon"}, "encoding", "klingon"),
        ({"encoding": "base64"}, "encoding", "base64"),
    ],
)
def test_a_dialect_is_checked(dialect, argument, value):
    with pytest.raises(InputError) as caught:
        Dialect(**dialect)
    assert (caught.value.argument, caught.value.value) == (argument, value)


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
    assert [remark_of(remark) for remark in opened(path).remarks] == [("sheet", 1, path)]
    assert "'Predictions'" in said(path)[0]
    assert "'3'" in said(path, sheet=3)[0]
    for sheet in ("Prices", 7):
        error = refusal(path, dialect=Dialect(sheet=sheet))
        assert error.argument == "sheet"
        assert repr(str(sheet)) in str(error)
    assert "no label column" in refused(path, dialect=Dialect(sheet="Notes"))


def test_where_a_sheet_is_empty_the_others_are_named(tmp_path):
    columns = table()
    body = [list(columns), *zip(*(np.asarray(of).tolist() for of in columns.values()), strict=True)]
    path = write_xlsx(tmp_path / "book.xlsx", {"Cover": [[]], "Predictions": body, "Notes": body})
    error = refusal(path)
    assert (error.argument, error.value) == ("sheet", "Cover")
    assert "'Predictions' and 'Notes'" in error.fix


def test_rows_of_a_sheet_are_called_as_excel_does(tmp_path):
    rows = [[], ("id", "y_true", "a", "b"), (1, "a", 0.5, 0.5), [], (2, "b", "x", 0.5)]
    path = write_xlsx(tmp_path / "book.xlsx", {"p": rows})
    error = refusal(path, classes=("a", "b"))
    assert cell_of(error) == (1, "a", "x")
    assert error.where == " row 5, column 'a'"
    rows[-1] = (2, "b", 0.4, 0.5)
    error = refusal(write_xlsx(tmp_path / "book.xlsx", {"p": rows}))
    assert cell_of(error) == (1, None, pytest.approx(0.9))
    assert error.where == " row 5"
    rows[-1] = (2, "b", None, 0.5)
    error = refusal(write_xlsx(tmp_path / "book.xlsx", {"p": rows}))
    assert cell_of(error) == (1, "a", None)
    assert error.where == " row 5, column 'a'"


def test_without_calamine_one_line_says_what_to_install(tmp_path, monkeypatch):
    path = write_xlsx(tmp_path / "book.xlsx", {"p": ROWS})
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"pandora-regret\[excel\]") as caught:
        open_predictions(path)
    assert "\n" not in str(caught.value)

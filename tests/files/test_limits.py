"""What a file may take in memory: small files that unfold to more than that are refused before they do."""

import gzip
import io
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from cli_files import run
from prediction_files import write_xlsx

from pandora_regret.core.inputs import InputError
from pandora_regret.files import (
    Dialect,
    Layout,
    ModelFiles,
    inspect_models,
    limits,
    open_predictions,
    read_all,
    read_table,
    text,
)
from pandora_regret.files.arrow_sizes import batch_sizes
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.limits import read_bytes, size_in_words, suggested
from pandora_regret.stream import score_stream

ROWS = 20_000
SMALL = 300_000  # bytes: less than these rows take


def constant_rows(n=ROWS):
    """Rows that are all alike, and so take very little room on disk."""
    return {"y_true": ["a"] * n, "a": np.full(n, 0.75), "b": np.full(n, 0.25)}


def write_rows(path):
    columns = constant_rows()
    name = str(path)
    if name.endswith(".npz"):
        proba = np.stack([columns["a"], columns["b"]], axis=1)
        np.savez_compressed(path, y_proba=proba, y_true=np.array(columns["y_true"]), classes=["a", "b"])
    elif name.endswith(".xlsx"):
        write_xlsx(path, {"rows": [list(columns), *zip(*columns.values(), strict=True)]})
    elif name.endswith(".parquet"):
        pq.write_table(pa.table(columns), path)
    elif name.endswith(".arrow"):
        feather.write_feather(pa.table(columns), path, compression="zstd")
    elif name.endswith(".csv"):
        arrow_csv.write_csv(pa.table(columns), path)
    elif name.endswith(".csv.gz"):
        text = io.BytesIO()
        arrow_csv.write_csv(pa.table(columns), text)
        path.write_bytes(gzip.compress(text.getvalue()))
    else:
        lines = [json.dumps({"y_true": "a", "a": 0.75, "b": 0.25})] * ROWS
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return str(path)


def layout_within(max_memory=None):
    return Layout(classes=("a", "b"), dialect=Dialect(max_memory=max_memory))


def read_within(path, max_memory=None):
    [predictions] = open_predictions(path, layout_within(max_memory))
    return read_all(predictions)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl.gz", ".parquet", ".arrow", ".npz", ".xlsx"])
def test_a_file_that_unfolds_is_refused_unless_more_is_allowed(tmp_path, ending):
    path = write_rows(tmp_path / f"rows{ending}")
    with pytest.raises(FileError) as error:
        read_within(path, SMALL)
    assert error.value.argument == "max_memory"
    assert error.value.path == path
    assert error.value.value > SMALL
    assert len(read_within(path, "1GB")) == ROWS
    allowed = suggested(error.value.value)
    assert allowed in str(error.value)
    assert read_bytes(allowed) > error.value.value


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl.gz", ".parquet"])
def test_streams_stay_streams(tmp_path, ending):
    path = write_rows(tmp_path / f"rows{ending}")
    [predictions] = open_predictions(path, layout_within(SMALL))
    assert score_stream(predictions, rows=1000).data.rows == ROWS


def test_a_parquet_file_is_refused_before_a_row_is_read(tmp_path, monkeypatch):
    path = write_rows(tmp_path / "rows.parquet")
    [predictions] = open_predictions(path, layout_within(SMALL))
    monkeypatch.setattr("pandora_regret.files.predictions.own_rows", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(FileError):
        read_all(predictions)


def test_the_limit_goes_by_the_size_of_the_file(tmp_path, monkeypatch):
    path = write_rows(tmp_path / "rows.parquet")
    monkeypatch.setattr(limits, "LEAST_LIMIT", 1000)
    monkeypatch.setattr(limits, "TIMES_SIZE", 10)
    with pytest.raises(FileError) as error:
        read_within(path)
    assert error.value.value > 10 * os.path.getsize(path)
    monkeypatch.setattr(limits, "TIMES_SIZE", 100_000)
    assert len(read_within(path)) == ROWS


def test_parts_of_one_model_are_held_together(tmp_path):
    paths = [write_rows(tmp_path / f"part {number}.parquet") for number in (1, 2)]
    alone = 2 * 8 * 3 * ROWS
    layout = layout_within(int(1.5 * alone))
    assert len(read_all(open_predictions(paths[0], layout)[0])) == ROWS
    with pytest.raises(FileError):
        read_all(open_predictions(paths, layout)[0])


def test_validate_says_it_like_any_other_problem(tmp_path):
    path = write_rows(tmp_path / "rows.parquet")
    [table], _ = inspect_models([ModelFiles((path,), layout_within(SMALL))])
    assert [problem.kind for problem in table.problems] == ["file"]
    result = run("validate", path, "--classes", "a,b", "--max-memory", "300KB")
    assert result.exit_code == 2
    assert "--max-memory" in result.output
    assert run("validate", path, "--classes", "a,b", "--max-memory", "1GB").exit_code == 0


def test_a_table_of_any_kind_is_limited(tmp_path):
    path = write_rows(tmp_path / "rows.csv")
    with pytest.raises(FileError):
        read_table(path, Dialect(max_memory=SMALL))


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_lists_of_candidates_are_held_as_objects(tmp_path, ending):
    path = tmp_path / f"lists{ending}"
    forecast = [{"label": "a", "score": 0.75}, {"label": "b", "score": 0.25}]
    if ending == ".parquet":
        pq.write_table(pa.table({"truth": ["a"] * 2000, "forecast": [forecast] * 2000}), path)
    else:
        text = "\n".join([json.dumps({"truth": "a", "forecast": forecast})] * 2000).encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    with pytest.raises(FileError) as error:
        read_within(path, SMALL)
    assert error.value.argument == "max_memory"
    assert len(read_within(path, "1GB")) == 2000


def write_long_text(path, column, coded):
    """Rows that all have one long text, which the file holds once."""
    text = pa.array(["x" * 5000] * ROWS)
    table = pa.table(constant_rows() | {column: text.dictionary_encode() if coded else text})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        feather.write_feather(table, path, compression="zstd")
    return str(path)


@pytest.mark.parametrize(("ending", "coded"), [(".parquet", True), (".parquet", False), (".arrow", True)])
@pytest.mark.parametrize("column", ["id", "site"])
def test_a_text_in_a_dictionary_counts_for_each_row_that_has_it(tmp_path, ending, coded, column):
    """A kilobyte of Parquet may stand for gigabytes of ids, or of names of groups."""
    path = write_long_text(tmp_path / f"rows{ending}", column, coded)
    assert os.path.getsize(path) < 100_000
    group = column if column == "site" else None
    layout = Layout(classes=("a", "b"), dialect=Dialect(max_memory="20MB"), group=group)
    with pytest.raises(FileError) as error:
        read_all(open_predictions(path, layout)[0])
    assert error.value.argument == "max_memory"
    assert error.value.value > ROWS * 5000
    with pytest.raises(FileError) as error:
        score_stream(open_predictions(path, layout)[0])
    assert error.value.argument == "max_memory"
    if group is not None:
        allowed = replace(layout, dialect=Dialect(max_memory="1GB"))
        assert len(read_all(open_predictions(path, allowed)[0])) == ROWS


def test_a_text_that_is_not_read_does_not_count(tmp_path):
    path = write_long_text(tmp_path / "rows.parquet", "note", True)
    assert len(read_within(path, "20MB")) == ROWS


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_a_line_without_an_end_is_refused_before_it_is_held(tmp_path, monkeypatch, ending):
    """A small file may unfold to one line of any length."""
    monkeypatch.setattr(text, "SAMPLE_BYTES", 1 << 10)
    monkeypatch.setattr(text, "LONGEST_LINE", 1 << 12)
    begins = {".csv": 'y_true,a,b\na,0.75,0.25\nb,0.5,"', ".jsonl": '{"y_true": "a", "a": 0.75, "b": "'}
    path = tmp_path / f"rows{ending}.gz"
    path.write_bytes(gzip.compress(begins[ending].encode() + b"x" * (1 << 20)))
    with pytest.raises(FileError) as error:
        read_within(str(path))
    assert f"line {3 if ending == '.csv' else 1}" in str(error.value)
    assert error.value.problem == "has more than 4.1 kB"


def write_parts(path, rows, texts=(), sheet="worksheets/sheet1.xml", more=None):
    """A workbook from the XML of a sheet's rows, and the list of texts that they name."""
    office = "http://schemas.openxmlformats.org"
    main = f'xmlns="{office}/spreadsheetml/2006/main"'
    relations = f"{office}/officeDocument/2006/relationships"
    kinds = f"{office}/package/2006/content-types"

    def related(*parts):
        items = "".join(
            f'<Relationship Id="r{k}" Type="{relations}/{kind}" Target="{target}"/>'
            for k, (kind, target) in enumerate(parts)
        )
        return f'<Relationships xmlns="{office}/package/2006/relationships">{items}</Relationships>'

    book = f'<workbook {main} xmlns:r="{relations}"><sheets><sheet name="rows" sheetId="1" r:id="r0"/></sheets>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{kinds}"></Types>',
        "_rels/.rels": related(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"{book}</workbook>",
        "xl/_rels/workbook.xml.rels": related(("worksheet", sheet), ("sharedStrings", "sharedStrings.xml")),
        f"xl/{sheet}": f"<worksheet {main}><sheetData>{''.join(rows)}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {main}>{''.join(f'<si><t>{each}</t></si>' for each in texts)}</sst>",
        **(more or {}),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return str(path)


def write_shared_text(path, text, n_rows):
    """A workbook whose rows all refer to one text in its list of texts."""
    rows = ['<row r="1">' + "".join(f'<c r="{"ABCD"[k]}1" t="s"><v>{k}</v></c>' for k in range(4)) + "</row>"]
    for row in range(2, n_rows + 2):
        numbers = f'<c r="B{row}"><v>0.75</v></c><c r="C{row}"><v>0.25</v></c>'
        noted = f'<c r="D{row}" t="s"><v>4</v></c>'
        rows.append(f'<row r="{row}"><c r="A{row}" t="s"><v>1</v></c>{numbers}{noted}</row>')
    return write_parts(path, rows, ["y_true", "a", "b", "note", text])


NAMED = '<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>2</v></c></row>'
SPELLINGS = {  # of a row, by writers of such files
    "without places": '<row><c t="s"><v>1</v></c><c><v>0.75</v></c><c><v>0.25</v></c></row>',
    "single quotes": "<row r='{r}'><c t='s' r='A{r}'><v>1</v></c><c r='B{r}'><v>0.75</v></c>"
    "<c r='C{r}'><v>0.25</v></c></row>",
    "lower case": '<row><c t="s" r="a{r}"><v>1</v></c><c r="b{r}"><v>0.75</v></c>'
    '<c r="c{r}"><v>0.25</v></c></row>',
    "texts inside": '<row><c t="inlineStr"><is><t>a</t></is></c><c><v>0.75</v></c><c><v>0.25</v></c></row>',
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_cells_of_a_sheet_are_counted_however_they_are_written(tmp_path, spelling):
    rows = [NAMED, *(SPELLINGS[spelling].format(r=row) for row in range(2, ROWS + 2))]
    path = write_parts(tmp_path / "rows.xlsx", rows, ["y_true", "a", "b"])
    with pytest.raises(FileError) as error:
        read_within(path, "14MB")
    assert error.value.argument == "max_memory"
    assert len(read_within(path, "20MB")) == ROWS


def test_a_sheet_is_limited_wherever_it_lies_in_the_archive(tmp_path):
    rows = [NAMED, *[SPELLINGS["without places"]] * ROWS]
    path = write_parts(tmp_path / "rows.xlsx", rows, ["y_true", "a", "b"], sheet="elsewhere/rows")
    with pytest.raises(FileError) as error:
        read_within(path, "5MB")
    assert error.value.argument == "max_memory"
    assert len(read_within(path, "20MB")) == ROWS


def test_texts_inside_cells_count(tmp_path):
    note = f'<c t="inlineStr"><is><t>{"x" * 10_000}</t></is></c>'
    rows = [NAMED.replace("</row>", '<c t="s"><v>3</v></c></row>')]
    rows += [SPELLINGS["without places"].replace("</row>", f"{note}</row>")] * 300
    path = write_parts(tmp_path / "notes.xlsx", rows, ["y_true", "a", "b", "note"])
    with pytest.raises(FileError) as error:
        read_within(path, "3.05MB")
    assert error.value.value > 300 * 10_000
    assert len(read_within(path, "10MB")) == 300


@pytest.mark.parametrize("last", ['<row r="1048576"><c r="XFD1048576"/></row>', '<row r="900000000"><c/></row>'])
def test_a_cell_far_away_from_the_table(tmp_path, last):
    rows = [NAMED, *[SPELLINGS["without places"]] * 20, last]
    path = write_parts(tmp_path / "far.xlsx", rows, ["y_true", "a", "b"])
    with pytest.raises(FileError) as error:
        read_within(path, "1000GB")
    assert "far away" in error.value.fix


def test_what_is_no_sheet_has_no_cells(tmp_path):
    order = {"xl/calcChain.xml": '<calcChain><c r="XFD1048576" i="1"/></calcChain>'}
    rows = [NAMED, *[SPELLINGS["without places"]] * 20]
    path = write_parts(tmp_path / "rows.xlsx", rows, ["y_true", "a", "b"], more=order)
    assert len(read_within(path)) == 20


def test_a_text_of_a_workbook_counts_wherever_it_is_shown(tmp_path):
    path = write_shared_text(tmp_path / "notes.xlsx", "x" * 10_000, 300)
    with pytest.raises(FileError) as error:
        read_within(path, "2MB")
    assert error.value.value > 300 * 10_000
    assert len(read_within(path, "10MB")) == 300


def test_an_archive_that_understates_its_size_is_damaged(tmp_path):
    path = write_rows(tmp_path / "rows.xlsx")
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    content = tmp_path.joinpath("rows.xlsx").read_bytes().replace(size.to_bytes(4, "little"), b"\x10\0\0\0")
    (tmp_path / "liar.xlsx").write_bytes(content)
    with pytest.raises(FileError) as error:
        read_within(str(tmp_path / "liar.xlsx"), "1GB")
    assert "as Excel" in str(error.value)


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
@pytest.mark.parametrize("is_stream", [False, True])
def test_sizes_of_record_batches_are_read_from_their_descriptions(tmp_path, compression, is_stream):
    path = str(tmp_path / "rows.arrow")
    table = pa.table(constant_rows() | {"coded": pa.array(["x" * 5000] * ROWS).dictionary_encode()})
    make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
    with make(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=ROWS // 2)
    dictionary, *batches = batch_sizes(path, is_stream)
    assert dictionary >= 5000
    assert len(batches) == 2
    for size in batches:
        assert size == pytest.approx(table.nbytes / 2, rel=0.1)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xff\xff\xff", b"ARROW1\0\0\xff\xff\xff\xff\x10\0\0\0" + bytes(40)]
)
def test_sizes_of_what_is_damaged_are_left_to_the_reader(tmp_path, content):
    path = tmp_path / "damaged.arrow"
    path.write_bytes(content)
    assert list(batch_sizes(str(path), not content.startswith(b"ARROW1"))) == []


@pytest.mark.parametrize("written", ["", "much", "0", "-1GB", "1PB", "nan", "1e3"])
def test_what_is_no_amount_of_memory(written):
    with pytest.raises(InputError) as error:
        Dialect(max_memory=written)
    assert error.value.argument == "max_memory"


def test_amounts_of_memory():
    assert [read_bytes(text) for text in ("1.5 gb", "2G", "100KB", 7)] == [1_500_000_000, 2 * 10**9, 100_000, 7]
    assert [size_in_words(size) for size in (0, 999, 1000, 1_500_000, 37e6, 8e9, 2e12)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "1.5 MB",
        "37 MB",
        "8 GB",
        "2 TB",
    ]

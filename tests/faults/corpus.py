"""Malformed files, made from a seed: every format, every way of being wrong that people or disks have found.

Each is a `Fault`: a file name, what writes the file, and whether it must be refused. A file mutated at random may
happen to be fine still; then it must be scored like any other.
"""

import datetime
import gzip
import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

CLASSES = ("a", "b", "c")
ROWS = 12


@dataclass(frozen=True)
class Fault:
    name: str
    write: Callable[[str], object]
    must_fail: bool = True

    def __str__(self):
        return self.name


def table():
    """Labels, ids and forecasts that are fine."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), ROWS)
    return {"id": np.arange(ROWS), "y_true": [CLASSES[i] for i in rng.integers(0, 3, ROWS)]} | {
        name: proba[:, k] for k, name in enumerate(CLASSES)
    }


def records():
    columns = table()
    return [{key: _plain(values[row]) for key, values in columns.items()} for row in range(ROWS)]


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value


def csv_text(separator=","):
    rows = records()
    lines = [separator.join(rows[0]), *(separator.join(str(cell) for cell in row.values()) for row in rows)]
    return "\n".join(lines) + "\n"


def jsonl_text():
    return "".join(json.dumps(row) + "\n" for row in records())


def arrow_table(**changes):
    return pa.table(table() | changes)


def content(data):
    """Writes these bytes, or this text."""

    def write(path):
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    return write


def parquet(made, **options):
    def write(path):
        pa.parquet.write_table(made, path, **options)

    return write


def parquet_bytes():
    file = io.BytesIO()
    pa.parquet.write_table(arrow_table(), file)
    return file.getvalue()


def arrow_bytes():
    file = io.BytesIO()
    pa.feather.write_feather(arrow_table(), file, compression="uncompressed")
    return file.getvalue()


def npz(arrays, compression=zipfile.ZIP_STORED):
    def write(path):
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, array in arrays.items():
                archive.writestr(name, array if isinstance(array, bytes) else npy(array))

    return write


def npy(array, allow_pickle=True):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=allow_pickle)
    return file.getvalue()


def npy_header(text, data=b"", version=(1, 0)):
    """An array whose header says this, whatever it holds."""
    header = text.encode("latin1") + b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(header)) + header + data


def npz_arrays():
    columns = table()
    proba = np.stack([columns[name] for name in CLASSES], axis=1)
    truth = np.array([CLASSES.index(label) for label in columns["y_true"]])
    return {"y_proba.npy": proba, "y_true.npy": truth}


CELLS = {  # what may stand where a probability should
    "text": "abc",
    "nan": "nan",
    "infinite": "inf",
    "minus infinite": "-inf",
    "overflow": "1e400",
    "negative": "-0.1",
    "large": "1.5",
    "percent": "50%",
    "decimal comma": '"0,5"',
    "empty": "",
    "quotes": '""',
    "hexadecimal": "0x1p-1",
    "underscore": "0.2_5",
    "two points": "0.1.2",
    "sign alone": "-",
    "null": "NULL",
    "true": "true",
    "date": "2026-01-01",
    "arabic digits": "\u0660.\u0665",
    "two numbers": "0.5 0.5",
    "formula": "=1/2",
    "long": "0." + "3" * 5000,
    "escape": "\x1b[31m0.5",
    "none": "None",
    "bracket": "[0.5]",
}


def cells():
    """One bad cell, in the first, a middle and the last row."""
    for kind, cell in CELLS.items():
        for row in (1, ROWS // 2, ROWS):
            lines = csv_text().splitlines()
            fields = lines[row].split(",")
            fields[3] = cell
            lines[row] = ",".join(fields)
            yield Fault(f"cell {kind} in line {row + 1}.csv", content("\n".join(lines) + "\n"))


def labels():
    for kind, label in {
        "unknown": "z",
        "empty": "",
        "number": "7",
        "space": " a",
        "case": "A",
        "NUL": "a\0",
    }.items():
        for row in (1, ROWS):
            lines = csv_text().splitlines()
            fields = lines[row].split(",")
            fields[1] = label
            lines[row] = ",".join(fields)
            yield Fault(f"label {kind} in line {row + 1}.csv", content("\n".join(lines) + "\n"), kind != "space")


def headers():
    body = csv_text().split("\n", 1)[1]
    for kind, header in {
        "repeated": "id,y_true,a,a,c",
        "empty name": "id,y_true,a,,c",
        "no label": "id,truth,a,b,c",
        "one class": "id,y_true,a",
        "too few": "id,y_true,a,b",
        "too many": "id,y_true,a,b,c,d",
        "semicolons": "id;y_true;a;b;c",
        "empty": "",
        "only commas": ",,,,",
        "unclosed quote": 'id,y_true,"a,b,c',
        "a comment": "# forecasts",
        "no forecast": "id,y_true,x,y,z",
    }.items():
        yield Fault(f"header {kind}.csv", content(f"{header}\n{body}"))


def shapes():
    """Lines that are too long, too short, or not there."""
    text, lines = csv_text(), csv_text().splitlines()
    for kind, data in {
        "empty": "",
        "one end of line": "\n",
        "spaces": "   \n  \n",
        "header alone": lines[0] + "\n",
        "a word": "hello",
        "NUL bytes": "\0" * 100,
        "a short row": "\n".join([*lines[:5], "3,a,0.5"]) + "\n",
        "a long row": "\n".join([*lines[:5], "3,a,0.1,0.2,0.7,0.0"]) + "\n",
        "an empty line": text.replace("\n", "\n\n", 3) + "1,a\n",
        "an unclosed quote": text + '13,"a,0.2,0.3,0.5\n' + text,
        "a quote in a number": text + '13,a,0".2,0.3,0.5\n',
        "repeated id": text + lines[1] + "\n",
        "header again": text + text,
        "sums": "y_true,a,b\na,0.5,0.4\n",
        "zeros": "y_true,a,b\na,0,0\n",
        "all text": "y_true,a,b\nx,y,z\n",
        "percentages": "y_true,a,b\na,60,40\nb,30,70\n",
        "logits": "y_true,a,b\na,3.5,-1\n",
        "one class": "y_true,a\na,1\n",
        "weights": "y_true,a,b,weight\na,0.5,0.5,-1\n",
        "weights of zero": "y_true,a,b,weight\na,0.5,0.5,0\n",
        "no id": "id,y_true,a,b\n,a,0.5,0.5\n",
        "huge id": f"id,y_true,a,b\n{'9' * 400},a,0.5,0.6\n",
        "bare carriage returns": text.replace("\n", "\r") + "\r1,a",
    }.items():
        yield Fault(f"csv {kind}.csv", content(data))


def encodings():
    text = csv_text().replace("y_true,a,", "y_true,ä,").replace(",a,", ",ä,")
    for encoding in ("latin-1", "utf-16", "utf-16-be", "utf-32", "cp037"):
        yield Fault(f"encoding {encoding}.csv", content(text.encode(encoding)), must_fail=False)
    for position in (0, 5, 200, -3):
        raw = bytearray(csv_text().encode())
        raw[position] = 0xFF
        readable = position == 0  # where it is a letter of a name in Latin-1
        yield Fault(f"byte 255 at {position}.csv", content(bytes(raw)), must_fail=not readable)


def json_lines():
    lines = jsonl_text().splitlines()
    deep = "[" * 100_000
    for kind, line in {
        "array": "[1, 2]",
        "number": "3",
        "null": "null",
        "text": '"a"',
        "truncated": '{"y_true": "a", "a": 0.',
        "not JSON": "hello",
        "single quotes": "{'y_true': 'a'}",
        "deep": deep,
        "deep value": '{"y_true": ' + deep,
        "NaN": '{"id": 1, "y_true": "a", "a": NaN, "b": 1, "c": 0}',
        "list value": '{"id": 99, "y_true": "a", "a": [0.5], "b": 0.5, "c": 0}',
        "object value": '{"id": 99, "y_true": "a", "a": {"x": 1}, "b": 0.5, "c": 0}',
        "text value": '{"id": 99, "y_true": "a", "a": "x", "b": 0.5, "c": 0}',
        "missing value": '{"id": 99, "y_true": "a", "a": 0.5, "b": 0.5}',
        "huge number": '{"id": 99, "y_true": "a", "a": 1e999, "b": 0.5, "c": 0}',
        "huge integer": '{"id": 99, "y_true": "a", "a": ' + "9" * 500 + ', "b": 0, "c": 0}',
        "trailing comma": '{"y_true": "a",}',
        "lone surrogate": '{"y_true": "\\ud800", "a": 0.5, "b": 0.5, "c": 0}',
        "list label": '{"id": 99, "y_true": ["a"], "a": 1, "b": 0, "c": 0}',
    }.items():
        for row in (0, ROWS // 2, ROWS):
            damaged = [*lines[:row], line, *lines[row:]]
            yield Fault(f"jsonl {kind} at {row}.jsonl", content("\n".join(damaged) + "\n"))
    yield Fault("jsonl empty.jsonl", content(""))
    yield Fault("jsonl a JSON array.jsonl", content(json.dumps(records())))


def parquets():
    from decimal import Decimal

    nothing = [None] * ROWS
    for kind, made in {
        "list column": arrow_table(a=[[0.5]] * ROWS),
        "struct column": arrow_table(a=[{"x": 0.5}] * ROWS),
        "null column": arrow_table(a=nothing),
        "timestamps": arrow_table(a=pa.array([0] * ROWS, pa.timestamp("ms"))),
        "binary": arrow_table(a=[b"\xff"] * ROWS),
        "one null": arrow_table(a=[None] + [0.5] * (ROWS - 1)),
        "null labels": arrow_table(y_true=nothing),
        "list labels": arrow_table(y_true=[["a"]] * ROWS),
        "booleans": arrow_table(a=[True] * ROWS),
        "map column": arrow_table(a=pa.array([[("x", 1.0)]] * ROWS, pa.map_(pa.string(), pa.float64()))),
        "no rows": arrow_table().slice(0, 0),
        "no columns": pa.table({}),
        "nan": arrow_table(a=[float("nan")] * ROWS),
        "float labels": arrow_table(y_true=np.full(ROWS, 0.5)),
        "list ids": arrow_table(id=[[1]] * ROWS),
        "null ids": arrow_table(id=nothing),
        "durations": arrow_table(a=pa.array([1] * ROWS, pa.duration("s"))),
        "text": arrow_table(a=["x"] * ROWS),
        "decimals that do not sum": arrow_table(a=pa.array([Decimal("0.9")] * ROWS)),
        "repeated ids": arrow_table(id=np.zeros(ROWS, int)),
    }.items():
        yield Fault(f"parquet {kind}.parquet", parquet(made))
        if made.num_columns:
            yield Fault(f"arrow {kind}.arrow", lambda path, made=made: pa.feather.write_feather(made, path))
    yield Fault(
        "parquet of two columns of one name.parquet",
        parquet(pa.Table.from_arrays([pa.array(["a"]), pa.array([0.5]), pa.array([0.5])], ["y_true", "a", "a"])),
    )


def archives():
    fine = npz_arrays()
    rows = (ROWS,)
    too_much = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }"
    for kind, arrays in {
        "no members": {},
        "no forecasts": {"y_true.npy": fine["y_true.npy"]},
        "no labels": {"y_proba.npy": fine["y_proba.npy"]},
        "objects": fine | {"y_true.npy": np.array([object] * ROWS, dtype=object)},
        "complex": fine | {"y_proba.npy": fine["y_proba.npy"].astype(complex)},
        "3-D": fine | {"y_proba.npy": fine["y_proba.npy"][None]},
        "flat": fine | {"y_proba.npy": fine["y_proba.npy"].ravel()},
        "lengths": fine | {"y_true.npy": np.zeros(3, int)},
        "dates": fine | {"y_true.npy": np.zeros(rows, "M8[s]")},
        "records": fine | {"y_true.npy": np.zeros(rows, [("x", "i4")])},
        "a claim": fine | {"y_proba.npy": npy_header(too_much)},
        "negative shape": fine | {"y_proba.npy": npy_header(too_much.replace("1000000000000", "-4"))},
        "not an array": fine | {"y_proba.npy": b"hello"},
        "version 9": fine | {"y_proba.npy": npy_header(too_much, version=(9, 9))},
        "code in a header": fine | {"y_proba.npy": npy_header("__import__('os')")},
        "overflowing shape": fine | {"y_proba.npy": npy_header(too_much.replace("1000000000000", str(2**62)))},
        "truth out of range": fine | {"y_true.npy": np.full(rows, 9)},
        "float labels": fine | {"y_true.npy": np.full(rows, 0.5)},
        "void": fine | {"y_true.npy": np.zeros(rows, "V4")},
        "text": fine | {"y_proba.npy": np.full((ROWS, 3), "x")},
        "long doubles": fine | {"y_proba.npy": np.full((ROWS, 3), 0.2, np.longdouble)},
        "a path": {"../y_proba.npy": fine["y_proba.npy"]},
        "empty": fine | {"y_proba.npy": np.empty((0, 3))},
    }.items():
        yield Fault(f"npz {kind}.npz", npz(arrays))
    whole = io.BytesIO()
    npz(fine)(whole)
    for kind, compression in {"bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}.items():
        yield Fault(f"npz in {kind}.npz", npz(fine, compression), must_fail=False)
    encrypted = bytearray(whole.getvalue())
    encrypted[6] |= 1
    yield Fault("npz marked as encrypted.npz", content(bytes(encrypted)), must_fail=False)


def dialects():
    """Text with other separators, decimal signs and encodings, damaged."""
    german = csv_text(";").replace(".", ",")
    lines = german.splitlines()
    for kind, data in {
        "a point among commas": "\n".join([*lines[:5], lines[5].replace(",", ".", 1), *lines[6:]]),
        "a short row": "\n".join([*lines, "12;a;0,5"]),
        "thousands": "\n".join([*lines, "12;a;1.000,5;0,5;0"]),
        "two separators": german.replace(";", "|", 3),
        "spaces": csv_text(" "),
        "sums": "y_true;a;b\nb;0,5;0,5\na;0,5;0,4\n",
        "either separator": "y_true;a,b;c\nx;0,1\ny;0,2\n",
        "an unclosed quote": german + '13;"a;0,2;0,3;0,5\n' + german,
    }.items():
        yield Fault(f"dialect {kind}.csv", content(data))
        yield Fault(f"dialect {kind} in UTF-16.csv", content(data.encode("utf-16")))
        yield Fault(f"dialect {kind}.csv.gz", content(gzip.compress(data.encode())))
    wide = csv_text().encode("utf-16")
    yield Fault("dialect half a letter.csv", content(wide[:-1]), must_fail=False)
    yield Fault("dialect lone surrogate.csv", content(wide + b"\x00\xd8x\x00"))
    yield Fault("dialect UTF-16 called with a mark alone.csv", content(b"\xff\xfe"))
    yield Fault("dialect two encodings.csv", content("y_true,\u00e4,b\nb,0.5,0.5\n".encode() + b"\xe4,0.5,0.5\n"))
    packed = gzip.compress(csv_text().encode())
    for kind, data in {
        "half": packed[: len(packed) // 2],
        "tail": packed[:-4],
        "twice": packed + packed[:9],
    }.items():
        yield Fault(f"gzip {kind}.csv.gz", content(data), must_fail=kind != "twice")
        yield Fault(f"gzip {kind}.jsonl.gz", content(data))
    yield Fault("gzip of nothing.csv.gz", content(gzip.compress(b"")))
    yield Fault("gzip that is none.csv.gz", content(csv_text()))


def xlsx_bytes(rows=None, far=False):
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    columns = table()
    body = [list(map(_plain, row)) for row in zip(*columns.values(), strict=True)]
    for row in [list(columns), *body] if rows is None else rows:
        book.active.append(row)
    if far:
        book.active["XFD1048576"] = 1
    book.save(file)
    return file.getvalue()


def workbooks():
    good = xlsx_bytes()
    for kind, rows in {
        "nothing": [],
        "header alone": [["y_true", "a", "b"]],
        "text": [["y_true", "a", "b"], ["a", "x", 0.5], ["b", 0.5, 0.5]],
        "sums": [["y_true", "a", "b"], ["a", 0.5, 0.4], ["b", 0.5, 0.5]],
        "an empty cell": [["y_true", "a", "b"], ["a", None, 0.5], ["b", 0.5, 0.5]],
        "a nameless column": [["y_true", "a", None, "b"], ["a", 0.5, 7, 0.5], ["b", 0.5, 8, 0.5]],
        "repeated names": [["y_true", "a", "a"], ["a", 0.5, 0.5]],
        "a date": [["y_true", "a", "b"], ["a", datetime.date(2026, 1, 1), 0.5], ["b", 0.5, 0.5]],
        "a truth value": [["y_true", "a", "b"], ["a", True, 0.5], ["b", 0.5, 0.5]],
        "a formula": [["y_true", "a", "b"], ["a", "=1/2", 0.5], ["b", 0.5, 0.5]],
        "an error": [["y_true", "a", "b"], ["a", "#DIV/0!", 0.5], ["b", 0.5, 0.5]],
    }.items():
        yield Fault(f"xlsx {kind}.xlsx", content(xlsx_bytes(rows)))
    for kind, data in {
        "half": good[: len(good) // 2],
        "a zip": b"PK\x05\x06" + bytes(18),
        "text": b"a,b\n",
    }.items():
        yield Fault(f"xlsx that is {kind}.xlsx", content(data))
    yield Fault("xlsx of a cell far away.xlsx", content(xlsx_bytes([["y_true", "a", "b"], ["a", 1, 0]], far=True)))
    yield Fault("xlsx called.csv", content(good))
    yield Fault("xlsx called.npz", content(good))


def lists():
    """Rows with options of their own."""
    good = '{"id": 1, "truth": "a", "forecast": {"a": 0.5, "b": 0.5}}'
    for kind, line in {
        "order": '{"id": 2, "truth": "a", "forecast": ["a", "b"]}',
        "nothing": '{"id": 2, "truth": "a", "forecast": {}}',
        "text": '{"id": 2, "truth": "a", "forecast": "a"}',
        "number": '{"id": 2, "truth": "a", "forecast": {"a": "0.5", "b": 0.5}}',
        "NaN": '{"id": 2, "truth": "a", "forecast": {"a": NaN, "b": 0.5}}',
        "sum": '{"id": 2, "truth": "a", "forecast": {"a": 0.5, "b": 0.6}}',
        "rest": '{"id": 2, "truth": "a", "forecast": {"a": 0.5, "b": 0.2}}',
        "truth": '{"id": 2, "truth": "z", "forecast": {"a": 0.5, "b": 0.5}}',
        "no truth": '{"id": 2, "forecast": {"a": 0.5, "b": 0.5}}',
        "array": "[1]",
        "half a character": '{"id": 2, "truth": "\\ud800", "forecast": {"\\ud800": 0.5, "b": 0.5}}',
        "huge": '{"id": 2, "truth": "a", "forecast": {"a": ' + "9" * 400 + ', "b": 0.5}}',
        "nested id": '{"id": [2], "truth": "a", "forecast": {"a": 0.5, "b": 0.5}}',
        "deep": '{"id": 2, "truth": "a", "forecast": ' + "[" * 50_000,
        "repeated id": good,
        "not JSON": "hello",
    }.items():
        yield Fault(f"list {kind}.jsonl", content(f"{good}\n{line}\n"))
    sample = {"doc_id": 1, "doc": {}, "target": "0", "arguments": [["q", " a"], ["q", " b"]]}
    for kind, change in {
        "generated": {"filtered_resps": ["text"]},
        "no responses": {"filtered_resps": []},
        "huge": {"filtered_resps": [[-(10**400), True], [-1.0, False]]},
        "positive": {"filtered_resps": [["1.0", "True"], ["-1.0", "False"]]},
        "nan": {"filtered_resps": [["nan", "True"], ["-1.0", "False"]]},
        "target": {"filtered_resps": [["-2.0", "True"], ["-1.0", "False"]], "target": "7"},
        "nothing": {"filtered_resps": None},
        "numbers": {"filtered_resps": [[-2.0, True], [-1.0, False]], "target": None},
    }.items():
        yield Fault(f"samples {kind}.jsonl", content(json.dumps(sample | change) + "\n"))


def not_files():
    yield Fault("a folder.csv", os.mkdir)
    yield Fault("a pipe.csv", os.mkfifo)
    yield Fault("a device.csv", lambda path: os.symlink("/dev/zero", path))
    yield Fault("nothing.csv", lambda path: None)
    yield Fault("a broken link.csv", lambda path: os.symlink("/nowhere", path))
    yield Fault("a link to itself.csv", lambda path: os.symlink(path, path))
    yield Fault("unknown ending.xyz", content(csv_text()))
    yield Fault("no ending", content(csv_text()))
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    for name, data in {
        "a picture.csv": picture,
        "a picture.parquet": picture,
        "a page.csv": b"<html><body>404</body></html>",
        "gzip.csv.gz": b"\x1f\x8b\x08hello",
        "Parquet called.csv": parquet_bytes(),
        "text called.parquet": csv_text().encode(),
        "text called.npz": csv_text().encode(),
        "text called.arrow": csv_text().encode(),
    }.items():
        yield Fault(name, content(data))


def mutations(count, rng):
    """Good files, some bytes of which were flipped, cut out, doubled, or lost at the end."""
    npz_file = io.BytesIO()
    npz(npz_arrays())(npz_file)
    originals = {
        "csv": csv_text().encode(),
        "tsv": csv_text("\t").encode(),
        "jsonl": jsonl_text().encode(),
        "parquet": parquet_bytes(),
        "arrow": arrow_bytes(),
        "npz": npz_file.getvalue(),
        "xlsx": xlsx_bytes(),
        "utf-16.csv": csv_text(";").replace(".", ",").encode("utf-16"),
        "csv.gz": gzip.compress(csv_text().encode(), mtime=0),
        "list.jsonl": b'{"id": 1, "truth": "a", "forecast": {"a": 0.5, "b": 0.5}}\n' * 4,
    }
    for number in range(count):
        ending = rng.choice(list(originals))
        yield Fault(f"mutation {number}.{ending}", content(mutated(originals[ending], rng)), must_fail=False)


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data)) if data else 0
        end = min(len(data), start + rng.randint(1, 40))
        way = rng.choice(("flip", "cut", "double", "end", "noise"))
        if way == "flip" and data:
            data[start] ^= 1 << rng.randrange(8)
        elif way == "cut":
            del data[start:end]
        elif way == "double":
            data[start:start] = data[start:end]
        elif way == "end":
            del data[start:]
        else:
            data[start:end] = rng.randbytes(end - start)
    return bytes(data)


def corpus(seed=0, n_mutations=80):
    """All of it."""
    rng = random.Random(seed)
    kinds = (cells, labels, headers, shapes, encodings, json_lines, parquets, archives)
    kinds += (dialects, workbooks, lists, not_files)
    return [*(fault for kind in kinds for fault in kind()), *mutations(n_mutations, rng)]

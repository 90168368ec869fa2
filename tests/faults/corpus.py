"""Malformed files, made from a seed: every format, every way of being wrong that people or disks have found.

Each is a `Fault`: a file name, what writes the file, and whether it must be refused. A file mutated at random may
happen to be fine still; then it must be scored like any other. Texts are in corpus.toml.
"""

import gzip
import io
import json
import os
import random
import struct
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

CLASSES = ("a", "b", "c")
ROWS = 12
TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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
    columns = {"id": list(range(ROWS)), "y_true": [CLASSES[i] for i in rng.integers(0, 3, ROWS)]}
    return columns | dict(zip(CLASSES, proba.T.tolist(), strict=True))


def rows():
    return list(zip(*table().values(), strict=True))


def csv_text(separator=","):
    return "".join(separator.join(map(str, row)) + "\n" for row in [list(table()), *rows()])


def german_text():
    return csv_text(";").replace(".", ",")


def json_records():
    return [json.dumps(dict(zip(table(), row, strict=True))) for row in rows()]


def arrow_table(**changes):
    return pa.table(table() | changes)


def content(data):
    """Writes these bytes, or this text."""
    return lambda path: Path(path).write_bytes(data.encode() if isinstance(data, str) else data)


def written(write, *arguments, **options):
    """The bytes that a library writes into a file."""
    file = io.BytesIO()
    write(*arguments, file, **options)
    return file.getvalue()


def parquet_bytes(made=None):
    return written(pa.parquet.write_table, arrow_table() if made is None else made)


def arrow_bytes(made=None):
    return written(pa.feather.write_feather, arrow_table() if made is None else made, compression="uncompressed")


def npz_bytes(arrays, compression=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else npy_bytes(array))
    return file.getvalue()


def npy_bytes(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def npy_header(shape, data=b"", version=(1, 0)):
    """An array whose header says this, whatever it holds."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header = text.encode("latin1") + b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(header)) + header + data


def npz_arrays():
    columns = table()
    proba = np.stack([columns[name] for name in CLASSES], axis=1)
    return {"y_proba": proba, "y_true": np.array([CLASSES.index(label) for label in columns["y_true"]])}


def xlsx_bytes(rows, far=False):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(list(row))
    if far:
        book.active["XFD1048576"] = 1
    return written(lambda file: book.save(file))


def texts(kind, csv=""):
    """(name, text) of one table of corpus.toml."""
    for name, text in TEXTS[kind].items():
        yield name, text.replace("<csv>", csv).replace("<nines>", "9" * 400).replace("<deep>", "[" * 50_000)


def replaced(row, column, cell):
    """The good file with another cell in it."""
    lines = [line.split(",") for line in csv_text().splitlines()]
    lines[row][column] = cell
    return content("".join(",".join(line) + "\n" for line in lines))


def csv_files():
    for kind, cell in texts("cells"):
        for row in (1, ROWS // 2, ROWS):
            yield Fault(f"cell {kind} in line {row + 1}.csv", replaced(row, 3, cell))
    for kind, label in texts("labels"):
        for row in (1, ROWS):
            is_left_out = kind == "empty"  # as long as half of the cases have a label
            yield Fault(f"label {kind} in line {row + 1}.csv", replaced(row, 1, label), must_fail=not is_left_out)
    body = csv_text().split("\n", 1)[1]
    for kind, header in texts("headers"):
        yield Fault(f"header {kind}.csv", content(f"{header}\n{body}"))
    for kind, text in texts("texts", csv_text()):
        yield Fault(f"csv {kind}.csv", content(text))
    yield Fault("csv bare carriage returns.csv", content(csv_text().replace("\n", "\r") + "\r1,a"))
    yield Fault("csv spaces between values.csv", content(csv_text(" ")))


def encodings():
    text = csv_text().replace("y_true,a,", "y_true,ä,").replace(",a,", ",ä,")
    for encoding in ("latin-1", "utf-16", "utf-16-be", "utf-32", "cp037"):
        yield Fault(f"encoding {encoding}.csv", content(text.encode(encoding)), must_fail=False)
    for position in (0, 5, 200, -3):
        raw = bytearray(csv_text().encode())
        raw[position] = 0xFF
        readable = position == 0  # where it is a letter of a name in Latin-1
        yield Fault(f"byte 255 at {position}.csv", content(bytes(raw)), must_fail=not readable)
    for kind, text in texts("german", german_text()):
        yield Fault(f"dialect {kind}.csv", content(text))
        yield Fault(f"dialect {kind} in UTF-16.csv", content(text.encode("utf-16")))
        yield Fault(f"dialect {kind}.csv.gz", content(gzip.compress(text.encode())))
    wide = csv_text().encode("utf-16")
    yield Fault("dialect half a letter.csv", content(wide[:-1]), must_fail=False)
    yield Fault("dialect lone surrogate.csv", content(wide + b"\x00\xd8x\x00"))
    yield Fault("dialect UTF-16 called with a mark alone.csv", content(b"\xff\xfe"))
    yield Fault("dialect two encodings.csv", content("y_true,\u00e4,b\nb,0.5,0.5\n".encode() + b"\xe4,0.5,0.5\n"))


def json_lines():
    lines = json_records()
    for kind, line in texts("json_lines"):
        for row in (0, ROWS // 2, ROWS):
            yield Fault(
                f"jsonl {kind} at {row}.jsonl", content("\n".join([*lines[:row], line, *lines[row:]]) + "\n")
            )
    yield Fault("jsonl empty.jsonl", content(""))
    yield Fault("jsonl a JSON array.jsonl", content(f"[{','.join(lines)}]"))
    good = TEXTS["lists"]["repeated id"]
    for kind, line in texts("lists"):
        is_left_out = kind == "no truth"  # one of two cases
        yield Fault(f"list {kind}.jsonl", content(f"{good}\n{line}\n"), must_fail=not is_left_out)
    begun = '{"doc_id": 1, "doc": {}, "arguments": [["q", " a"], ["q", " b"]], '
    for kind, rest in texts("samples"):
        yield Fault(f"samples {kind}.jsonl", content(f"{begun}{rest}\n"))


def parquets():
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
        others_may_say = kind == "null labels"  # a file beside it has them
        yield Fault(f"parquet {kind}.parquet", content(parquet_bytes(made)), must_fail=not others_may_say)
        if made.num_columns:
            yield Fault(f"arrow {kind}.arrow", content(arrow_bytes(made)), must_fail=not others_may_say)
    twice = pa.Table.from_arrays([pa.array(["a"]), pa.array([0.5]), pa.array([0.5])], ["y_true", "a", "a"])
    yield Fault("parquet of two columns of one name.parquet", content(parquet_bytes(twice)))


def archives():
    fine = npz_arrays()
    proba, truth = fine["y_proba"], fine["y_true"]
    for kind, changes in {
        "objects": {"y_true": np.array([object] * ROWS, dtype=object)},
        "lengths": {"y_true": np.zeros(3, int)},
        "dates": {"y_true": np.zeros(ROWS, "M8[s]")},
        "records": {"y_true": np.zeros(ROWS, [("x", "i4")])},
        "truth out of range": {"y_true": np.full(ROWS, 9)},
        "float labels": {"y_true": np.full(ROWS, 0.5)},
        "void": {"y_true": np.zeros(ROWS, "V4")},
        "complex": {"y_proba": proba.astype(complex)},
        "3-D": {"y_proba": proba[None]},
        "flat": {"y_proba": proba.ravel()},
        "text": {"y_proba": np.full((ROWS, 3), "x")},
        "long doubles": {"y_proba": np.full((ROWS, 3), 0.2, np.longdouble)},
        "empty": {"y_proba": np.empty((0, 3))},
        "not an array": {"y_proba": b"hello"},
        "a claim": {"y_proba": npy_header((10**12, 3))},
        "negative shape": {"y_proba": npy_header((-4, 3))},
        "overflowing shape": {"y_proba": npy_header((2**62, 3))},
        "version 9": {"y_proba": npy_header((4, 3), version=(9, 9))},
        "code in a header": {"y_proba": npy_header("__import__('os')")},
    }.items():
        yield Fault(f"npz {kind}.npz", content(npz_bytes(fine | changes)))
    for kind, arrays in {
        "no members": {},
        "no forecasts": {"y_true": truth},
        "no labels": {"y_proba": proba},
        "a path": {"../y_proba": proba},
    }.items():
        yield Fault(f"npz {kind}.npz", content(npz_bytes(arrays)))
    for kind, compression in {"bzip2": zipfile.ZIP_BZIP2, "lzma": zipfile.ZIP_LZMA}.items():
        yield Fault(f"npz in {kind}.npz", content(npz_bytes(fine, compression)), must_fail=False)
    encrypted = bytearray(npz_bytes(fine))
    encrypted[6] |= 1
    yield Fault("npz marked as encrypted.npz", content(bytes(encrypted)), must_fail=False)


def workbooks():
    header, good = ["y_true", "a", "b"], xlsx_bytes([list(table()), *rows()])
    for kind, body in TEXTS["workbooks"].items():
        yield Fault(f"xlsx {kind}.xlsx", content(xlsx_bytes([header, *body])))
    yield Fault("xlsx without rows.xlsx", content(xlsx_bytes([])))
    nameless = [["y_true", "a", None, "b"], ["a", 0.5, 7, 0.5], ["b", 0.5, 8, 0.5]]
    yield Fault("xlsx a nameless column.xlsx", content(xlsx_bytes(nameless)))
    yield Fault("xlsx repeated names.xlsx", content(xlsx_bytes([["y_true", "a", "a"], ["a", 0.5, 0.5]])))
    yield Fault("xlsx of a cell far away.xlsx", content(xlsx_bytes([header, ["a", 1, 0]], far=True)))
    halves = {"half": good[: len(good) // 2], "a zip": b"PK\x05\x06" + bytes(18), "text": b"a,b\n"}
    for kind, data in halves.items():
        yield Fault(f"xlsx that is {kind}.xlsx", content(data))


def not_files():
    yield Fault("a folder.csv", os.mkdir)
    yield Fault("a pipe.csv", os.mkfifo)
    yield Fault("a device.csv", lambda path: os.symlink("/dev/zero", path))
    yield Fault("nothing.csv", lambda path: None)
    yield Fault("a broken link.csv", lambda path: os.symlink("/nowhere", path))
    yield Fault("a link to itself.csv", lambda path: os.symlink(path, path))
    picture, text, packed = (
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        csv_text(),
        gzip.compress(csv_text().encode()),
    )
    workbook = xlsx_bytes([list(table()), *rows()])
    for name, data in {
        "a picture.csv": picture,
        "a picture.parquet": picture,
        "gzip.csv.gz": b"\x1f\x8b\x08hello",
        "gzip of nothing.csv.gz": gzip.compress(b""),
        "gzip half.csv.gz": packed[: len(packed) // 2],
        "gzip half.jsonl.gz": packed[: len(packed) // 2],
        "gzip without its end.csv.gz": packed[:-4],
        "gzip of a table.jsonl.gz": packed,
    }.items():
        yield Fault(name, content(data))
    for name, data in {
        "unknown ending.xyz": text,
        "no ending": text,
        "Parquet called.csv": parquet_bytes(),
        "text called.parquet": text,
        "text called.csv.gz": text,
        "xlsx called.npz": workbook,
        "gzip and a bit.csv.gz": packed + packed[:9],
    }.items():
        yield Fault(name, content(data), must_fail=False)


def mutations(count, rng):
    """Good files, some bytes of which were flipped, cut out, doubled, or lost at the end."""
    originals = {
        "csv": csv_text().encode(),
        "tsv": csv_text("\t").encode(),
        "jsonl": "\n".join(json_records()).encode(),
        "parquet": parquet_bytes(),
        "arrow": arrow_bytes(),
        "npz": npz_bytes(npz_arrays()),
        "xlsx": xlsx_bytes([list(table()), *rows()]),
        "utf-16.csv": german_text().encode("utf-16"),
        "csv.gz": gzip.compress(csv_text().encode(), mtime=0),
        "list.jsonl": f"{TEXTS['lists']['repeated id']}\n".encode() * 4,
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
    kinds = (csv_files, encodings, json_lines, parquets, archives, workbooks, not_files)
    return [*(fault for kind in kinds for fault in kind()), *mutations(n_mutations, random.Random(seed))]

"""How large record batches of an Arrow file become, read from their descriptions before anything is unpacked.

A file is a sequence of messages, each a description and a body. The description is a flatbuffer: tables that begin
with the distance to a list of where each of their fields lies. A compressed buffer of the body begins with its
size once it is unpacked, or with -1 where it was left as it is. https://arrow.apache.org/docs/format/Columnar.html
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.ipc as ipc

MAGIC_BYTES = 8  # before the first message of a file that has a table of contents
DICTIONARY_BATCH = 2  # kinds of messages
RECORD_BATCH = 3
KIND = 1  # numbers of fields: of a message
MESSAGE_HEADER = 2
BATCH_OF_DICTIONARY = 1  # of a dictionary batch
BUFFERS = 2  # of a record batch
COMPRESSION = 3
BYTES_OF_BUFFER = 16  # an offset and a size


def batch_sizes(path: str, is_stream: bool) -> Iterator[int]:
    """How many bytes each record batch of a file, and each dictionary, takes once it is unpacked.

    Nothing is said of what is damaged: whoever reads the file does.
    """
    with pa.memory_map(path) as file:
        if not is_stream:
            file.seek(MAGIC_BYTES)
        with suppress(pa.ArrowException, EOFError, OSError, struct.error):
            while True:
                message = ipc.read_message(file)
                if message.body is None:
                    continue
                sizes = list(buffer_sizes(message.metadata.to_pybytes(), message.body))
                if sizes:
                    yield sum(sizes)


def buffer_sizes(description: bytes, body: pa.Buffer) -> Iterator[int]:
    """The size of each buffer in a message's body once it is unpacked."""
    message = FlatTable.root(description)
    batch = message.table(MESSAGE_HEADER)
    if message.byte(KIND) == DICTIONARY_BATCH and batch is not None:
        batch = batch.table(BATCH_OF_DICTIONARY)
    elif message.byte(KIND) != RECORD_BATCH:
        return
    if batch is None:
        return
    is_compressed = batch.table(COMPRESSION) is not None
    for offset, size in batch.pairs(BUFFERS):
        if is_compressed and size >= 8:
            yield max(size, int.from_bytes(body[offset : offset + 8].to_pybytes(), "little", signed=True))
        else:
            yield size


@dataclass(frozen=True)
class FlatTable:
    """A table of a flatbuffer, by its place."""

    data: bytes
    place: int

    @classmethod
    def root(cls, data: bytes) -> "FlatTable":
        """The outermost table of a flatbuffer: its first four bytes say where it begins."""
        return cls(data, number("<I", data, 0))

    def field(self, index: int) -> int | None:
        """Where a field lies; None where it has its default."""
        places = self.place - number("<i", self.data, self.place)
        entry = 4 + 2 * index
        if entry >= number("<H", self.data, places):
            return None
        distance = number("<H", self.data, places + entry)
        return self.place + distance if distance else None

    def byte(self, index: int) -> int:
        """A field of one byte."""
        place = self.field(index)
        return 0 if place is None else number("<B", self.data, place)

    def table(self, index: int) -> "FlatTable | None":
        """A field that is a table."""
        place = self.field(index)
        return None if place is None else FlatTable(self.data, place + number("<I", self.data, place))

    def pairs(self, index: int) -> Iterator[tuple[int, int]]:
        """A field that is a list of pairs of 64-bit numbers."""
        place = self.field(index)
        if place is None:
            return
        length_at = place + number("<I", self.data, place)
        for entry in range(number("<I", self.data, length_at)):
            start = length_at + 4 + BYTES_OF_BUFFER * entry
            yield number("<q", self.data, start), number("<q", self.data, start + 8)


def number(kind: str, data: bytes, place: int) -> int:
    """A whole number of this kind, in the notation of `struct`."""
    return int(struct.unpack_from(kind, data, place)[0])

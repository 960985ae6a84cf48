"""Tables of ids and numbers that commands leave as CSV files, read back by their schema."""

from pathlib import Path
from typing import TYPE_CHECKING

from ragauge.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["recorded_table"]


def recorded_table(path: Path, schema: "pa.Schema") -> "pa.Table":
    """The table in a CSV file as `io.write_table` writes it; an empty cell is null.

    Raises:
        InputError: The file is something else.
    """
    from pyarrow import ArrowInvalid, csv

    types = {field.name: field.type for field in schema}
    options = csv.ConvertOptions(
        column_types=types, include_columns=schema.names, strings_can_be_null=True, null_values=[""]
    )
    try:
        return csv.read_csv(path, convert_options=options)
    except (ArrowInvalid, KeyError) as error:
        raise InputError(f"{path} is not as ragauge writes it: {error}") from error

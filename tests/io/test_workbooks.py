"""Sheets of workbooks as people lay them out: titles, empty rows, merged cells, and several sheets."""

from __future__ import annotations

import zipfile

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.options import FileForm
from rightreasons.io.reading import as_table

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

HEADING = ["text", "label"]
ROWS = [["Fine film", 1], ["Dull", 0], ["Grand: a must", 1]]


def write_cell(value):
    if value is None:
        return "<c/>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"


def write_sheet(rows, merged=()):
    lines = []
    for row in rows:
        cells = "".join(map(write_cell, row))
        lines.append(f"<row>{cells}</row>")
    data = f"<sheetData>{''.join(lines)}</sheetData>"
    merged_cells = ""
    if merged:
        ranges = "".join(f'<mergeCell ref="{cells}"/>' for cells in merged)
        merged_cells = f"<mergeCells>{ranges}</mergeCells>"
    return f'<worksheet xmlns="{MAIN}">{data}{merged_cells}</worksheet>'


def write_relations(relations):
    entries = []
    for number, (kind, target) in enumerate(relations, start=1):
        entries.append(f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>')
    return f'<Relationships xmlns="{PACKAGE}">{"".join(entries)}</Relationships>'


def write_workbook(path, sheets):
    """Write a workbook of sheets by name."""
    files = {}
    entries = []
    for number, (name, sheet) in enumerate(sheets.items(), start=1):
        files[f"worksheets/sheet{number}.xml"] = sheet
        entries.append(f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>')
    sheet_list = f"<sheets>{''.join(entries)}</sheets>"
    workbook = f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{sheet_list}</workbook>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_rels/.rels", write_relations([("officeDocument", "xl/workbook.xml")]))
        archive.writestr("xl/workbook.xml", workbook)
        relations = write_relations([("worksheet", name) for name in files])
        archive.writestr("xl/_rels/workbook.xml.rels", relations)
        for name, content in files.items():
            archive.writestr(f"xl/{name}", content)
    return path


def read_sheet(tmp_path, rows, merged=()):
    pytest.importorskip("python_calamine")
    path = write_workbook(tmp_path / "rows.xlsx", {"Rows": write_sheet(rows, merged)})
    return as_table(path).to_dict()


TABLE = {"text": ["Fine film", "Dull", "Grand: a must"], "label": ["1", "0", "1"]}


@pytest.mark.parametrize(
    ("rows", "merged"),
    [
        ([HEADING, *ROWS], ()),
        ([["Review of March"], HEADING, *ROWS], ("A1:B1",)),
        ([HEADING, ROWS[0], [None, None], *ROWS[1:], [" ", None]], ()),
        ([[None, *HEADING], *([None, *row] for row in ROWS)], ()),
    ],
)
def test_titles_and_empty_rows_and_columns_are_no_cells(rows, merged, tmp_path):
    assert read_sheet(tmp_path, rows, merged) == TABLE


def test_a_merged_cell_is_the_value_of_all_its_rows(tmp_path):
    rows = [["label", "text"], [1, "Fine film"], [None, "Dull"], [0, "Grand: a must"]]

    table = read_sheet(tmp_path, rows, ("A2:A3",))

    assert table["label"] == ["1", "1", "0"]


def test_the_numbers_of_the_rows_of_a_data_frame_are_a_column(tmp_path):
    table = read_sheet(tmp_path, [[None, "text"], [0, "Fine film"], [1, "Dull"]])

    assert table == {"(column 1)": ["0", "1"], "text": ["Fine film", "Dull"]}


def test_a_heading_above_several_columns_is_refused(tmp_path):
    rows = [["text", "Classes", None], [None, "label", "prediction"], ["Dull", 0, 1]]

    with pytest.raises(ValueError, match="'Classes' is above several"):
        read_sheet(tmp_path, rows, ("B1:C1",))


def test_an_option_names_one_of_several_sheets(tmp_path):
    pytest.importorskip("python_calamine")
    sheets = {"Rows": write_sheet([HEADING, *ROWS]), "Notes": write_sheet([["by"], ["MM"]])}
    path = write_workbook(tmp_path / "rows.xlsx", sheets)

    table = as_table(path, form=FileForm(rows="Rows"))

    assert table.to_dict() == TABLE
    for form in (FileForm(), FileForm(rows="Sheet1")):
        with pytest.raises(OptionError, match="Rows, Notes") as error:
            as_table(path, form=form)
        assert error.value.option == ("rows",)


def test_a_workbook_without_its_reader_names_the_extra(tmp_path, monkeypatch):
    file = tmp_path / "rows.xlsx"
    file.write_bytes(b"PK\x03\x04")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(ModuleNotFoundError, match=r"\[excel\]"):
        as_table(file)

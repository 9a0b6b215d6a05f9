from .demos import module_page as module_page
from .pages import FILTER as FILTER
from .pages import MISTAKES as MISTAKES
from .pages import PRIVACY as PRIVACY
from .pages import Held as Held
from .pages import between as between
from .pages import by_name as by_name
from .pages import download_text as download_text
from .pages import example_files as example_files
from .pages import figure as figure
from .pages import filter_field as filter_field
from .pages import launch as launch
from .pages import page_links as page_links
from .pages import problem as problem
from .pages import public_page as public_page
from .pages import table as table
from .pages import tiles as tiles
from .pages import typed_count as typed_count
from .pages import typed_hub_id as typed_hub_id
from .pages import typed_text as typed_text
from .pages import upload_file as upload_file
from .pages import verdict as verdict
from .pages import waiting as waiting
from .reports import answer_edits as answer_edits
from .reports import show_report as show_report
from .reports import write_answer as write_answer
from .working import end_workers as end_workers
from .working import result_of as result_of
from .working import work as work

__all__ = [
    "FILTER",
    "MISTAKES",
    "PRIVACY",
    "Held",
    "answer_edits",
    "between",
    "by_name",
    "download_text",
    "end_workers",
    "example_files",
    "figure",
    "filter_field",
    "launch",
    "module_page",
    "page_links",
    "problem",
    "public_page",
    "result_of",
    "show_report",
    "table",
    "tiles",
    "typed_count",
    "typed_hub_id",
    "typed_text",
    "upload_file",
    "verdict",
    "waiting",
    "work",
    "write_answer",
]

"""Write CheckList's reading suite, and the answers that were released with it, for the page.

    python spaces/behavior_report/make_checklist.py [DATA_DIR]

Both are downloaded, or read from the folder with the published files. They are no part of the
repository; the Space gets them when it is published. Ribeiro et al. (2020), MIT.
"""

import sys

from behavior_report import CHECKLIST, CHECKLIST_ANSWERS

from rightreasons.core.store import format_csv, write_text
from rightreasons.datasets.suites.suite import open_suite
from rightreasons.replicate.suite_steps import SUITE, read_released_answers

N_CASES = 50
"""Number of cases of each test that the page has."""


def main(data_dir: str | None) -> None:
    """Write the suite, and a row for each of its examples."""
    # The released answers are to the released suite: known issues stay as they are.
    suite = open_suite(SUITE, data_dir=data_dir, known_issues=False, max_cases=N_CASES)
    released = read_released_answers(data_dir)
    rows = [["prediction"]]
    for functionality in suite.functionalities:
        for case in functionality.cases:
            answers = released[functionality.name].answers[case.id]
            rows.extend([answer] for answer in answers)
    suite.write(CHECKLIST)
    write_text(CHECKLIST_ANSWERS, format_csv(rows))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

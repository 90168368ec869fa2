"""Which parts of a page are printed: those that people ask for first, and others as long as they fill a sheet.

How high a part is on paper, in CSS pixels, is estimated: as print.css draws it with the fonts that browsers have.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from pandora_regret.comparison import Comparison
from pandora_regret.report.charts import TemplateData

SHEET = 1010  # of A4 between its margins, less what estimates may be off by
BREAK = 120  # of every sheet but the last: a part that cannot be broken may begin on the next one
LETTERS = 110  # of a line
HEADLINE_LETTERS = 60
BYLINE_LETTERS = 85

MOST_BLANK = 250  # of the last sheet, unless too little is left to print on another
LEAST_ON_ANOTHER = 500

GAP = 8  # between sections
LINE = 17
MASTHEAD = 27
BYLINE = 15
HEADLINE = 24
LEGEND = 50  # with the space around it
LINE_OF_LEGEND = 20
BAR = 42
FIRST_BARS = 8  # more are shown on request
HEADING = 28
PRICES = 33  # two of them, side by side
FIRST_PRICES = 8
MISS_CHART = 400
GROUPS = 60  # a heading, the names of models and the scale
ROW = 22
FLAG = 30
WRONG_TESTS = 40
FIRST_WRONG_TESTS = 5  # where no more fit
RANKS = 100
RANK = 20
CASE = 155
STEP = 26
DETAIL = 670
CLASS = 24
METHODS = 570
CLASS_OF_METHODS = 4  # which are listed
METHODS_OF_LISTS = 305


def printed_parts(
    comparison: Comparison,
    byline: Iterable[str],
    case: TemplateData | None,
    wrong_tests: TemplateData,
    *,
    recal_is_drawn: bool,
) -> set[str]:
    """The parts that are printed beside the verdict, prices, groups and what to know of the files.

    Parameters
    ----------
    comparison
        What is on the page.
    byline
        What stands below the heading.
    case
        The worked case, if there is one.
    wrong_tests
        The most expensive wrong tests.
    recal_is_drawn
        Whether the legend of the bars has a second line, about recalibrating.

    Returns
    -------
    set of str
        Of "wrong-tests" (all that are on the page, and not only the first five), "metrics", "case", "detail" and
        "methods".
    """
    n_pairs = len(wrong_tests.get("pairs", ()))
    n_rows = n_pairs + int(wrong_tests.get("others", 0) > 0)
    used = _always_printed(comparison, " · ".join(byline)) + LINE_OF_LEGEND * recal_is_drawn
    if n_pairs:
        used += GAP + WRONG_TESTS + ROW * min(n_pairs, FIRST_WRONG_TESTS)
    n_sheets = ceil(used / SHEET)
    room = n_sheets * SHEET - (n_sheets - 1) * BREAK - used
    optional = dict(_optional_parts(comparison, case, n_rows))
    printed = _filling(optional, room)
    room -= sum(optional[part] for part in printed)
    left = {part: height for part, height in optional.items() if part not in printed}
    if room > MOST_BLANK and sum(left.values()) >= LEAST_ON_ANOTHER:
        printed |= _filling(left, room + SHEET - BREAK)
    return printed


def _filling(heights: Mapping[str, int], room: int) -> set[str]:
    """The parts that fit, the first ones first."""
    parts = set()
    for part, height in heights.items():
        if height <= room:
            parts.add(part)
            room -= height
    return parts


def _always_printed(comparison: Comparison, byline: str) -> int:
    """How high the masthead, the verdict, bars, prices, groups and notes are together."""
    headline, *others = comparison.verdict.sentences
    n_models = len(comparison.models)
    heights = [MASTHEAD + BYLINE * _n_lines([byline], BYLINE_LETTERS)]
    verdict = HEADLINE * _n_lines([headline], HEADLINE_LETTERS) + LINE * _n_lines(others)
    heights.append(verdict + LEGEND + BAR * min(n_models, FIRST_BARS))
    if comparison.sample is not None and comparison.costs.currency is not None:
        n_prices = min(len(comparison.data.classes), FIRST_PRICES)
        heights.append(HEADING + PRICES * ceil(n_prices / 2))
    if comparison.lists is not None:
        heights.append(MISS_CHART)
    heights += [GROUPS + ROW * len(part.groups) + FLAG * len(part.all_flags) for part in comparison.by]
    remarks = [remark.sentence for remark in comparison.other_remarks]
    heights += [HEADING + LINE + LINE * _n_lines(notes) for notes in (remarks, comparison.notes) if notes]
    return sum(heights) + GAP * len(heights)


def _optional_parts(comparison: Comparison, case: TemplateData | None, n_rows: int) -> Iterable[tuple[str, int]]:
    """Names and heights of the parts that are printed where there is room, what people ask for first."""
    n_models = len(comparison.models)
    if n_rows > FIRST_WRONG_TESTS:
        yield "wrong-tests", ROW * (n_rows - FIRST_WRONG_TESTS)
    if n_models > 1:
        sentences = LINE * _n_lines(comparison.disagreements)
        yield "metrics", GAP + RANKS + RANK * n_models + sentences
    if case is not None:
        yield "case", GAP + CASE + STEP * max(len(plan["steps"]) for plan in case["plans"])
    n_classes = len(comparison.data.classes)
    if comparison.lists is not None:
        yield "methods", GAP + METHODS_OF_LISTS
        return
    if n_models == 1:
        yield "detail", GAP + DETAIL + CLASS * n_classes
    yield "methods", GAP + METHODS + CLASS_OF_METHODS * n_classes


def _n_lines(sentences: Sequence[str], letters: int = LETTERS) -> int:
    """How many lines sentences take, each of which begins a line."""
    return sum(ceil(len(sentence) / letters) for sentence in sentences)

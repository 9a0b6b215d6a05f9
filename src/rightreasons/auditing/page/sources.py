"""Where the works are that a report cites."""

from __future__ import annotations

import re
from collections.abc import Iterator

ARXIV, DOI = "https://arxiv.org/abs/", "https://doi.org/"

WORKS = {
    "Agresti & Min 2005": f"{DOI}10.1002/sim.1781",
    "Baan et al. 2022": f"{ARXIV}2210.16133",
    "Bihani & Rayz 2025": f"{ARXIV}2412.15269",
    "Błasiok & Nakkiran 2023": f"{ARXIV}2309.12236",
    "Brier 1950": f"{DOI}10.1175/1520-0493(1950)078%3C0001:VOFEIT%3E2.0.CO;2",
    "Bröcker & Smith 2007": f"{DOI}10.1175/WAF993.1",
    "Datta et al. 2020": f"{ARXIV}2010.07212",
    "DeGroot & Fienberg 1983": f"{DOI}10.2307/2987588",
    "Du et al. 2021": f"{ARXIV}2103.06922",
    "Efron & Tibshirani 1993": f"{DOI}10.1201/9780429246593",
    "El-Yaniv & Wiener 2010": "https://www.jmlr.org/papers/v11/el-yaniv10a.html",
    "Ethayarajh et al. 2022": f"{ARXIV}2110.08420",
    "Gardner et al. 2020": f"{ARXIV}2004.02709",
    "Garg et al. 2019": f"{ARXIV}1809.10610",
    "Geifman & El-Yaniv 2017": f"{ARXIV}1705.08500",
    "Geifman et al. 2019": f"{ARXIV}1805.08206",
    "Good 1952": f"{DOI}10.1111/j.2517-6161.1952.tb00104.x",
    "Guo et al. 2017": f"{ARXIV}1706.04599",
    "Hendrycks & Gimpel 2017": f"{ARXIV}1610.02136",
    "Holm 1979": "https://www.jstor.org/stable/4615733",
    "Holtzman et al. 2021": f"{ARXIV}2104.08315",
    "Kadavath et al. 2022": f"{ARXIV}2207.05221",
    "Kaushik et al. 2020": f"{ARXIV}1909.12434",
    "Kavumba et al. 2019": f"{ARXIV}1911.00225",
    "Kull et al. 2019": f"{ARXIV}1910.12656",
    "Kumar et al. 2019": f"{ARXIV}1909.10155",
    "Li, Monroe & Jurafsky 2016": f"{ARXIV}1612.08220",
    "Luz de Araujo & Roth 2023": f"{DOI}10.1162/tacl_a_00590",
    "McNemar 1947": f"{DOI}10.1007/BF02295996",
    "Murphy 1973": f"{DOI}10.1175/1520-0450(1973)012%3C0595:ANVPOT%3E2.0.CO;2",
    "Naeini et al. 2015": f"{DOI}10.1609/aaai.v29i1.9602",
    "Nguyen & O'Connor 2015": f"{ARXIV}1508.05154",
    "Niven & Kao 2019": f"{ARXIV}1907.07355",
    "Nixon et al. 2019": f"{ARXIV}1904.01685",
    "Ribeiro et al. 2020": f"{ARXIV}2005.04118",
    "Roelofs et al. 2022": f"{ARXIV}2012.08668",
    "Sagawa et al. 2020": f"{ARXIV}1911.08731",
    "Schuster et al. 2019": f"{ARXIV}1908.05267",
    "Shen & Kejriwal 2022": f"{ARXIV}2210.01258",
    "Si et al. 2022": f"{ARXIV}2205.12507",
    "Spearman 1904": f"{DOI}10.2307/1412159",
    "Swayamdipta et al. 2020": f"{ARXIV}2009.10795",
    "Tian et al. 2023": f"{ARXIV}2305.14975",
    "Vaicenavicius et al. 2019": f"{ARXIV}1902.06977",
    "Wang et al. 2023": f"{ARXIV}2203.11171",
    "Wilson 1927": f"{DOI}10.1080/01621459.1927.10502953",
    "WordNet": f"{DOI}10.1145/219717.219748",
    "Zhao et al. 2021": f"{ARXIV}2102.09690",
    "Zheng et al. 2024": f"{ARXIV}2309.03882",
    "Zou & Donner 2008": f"{DOI}10.1002/sim.3095",
}
"""Authors and year as the report cites them -> address."""

_WORK = re.compile("|".join(re.escape(work) for work in sorted(WORKS, key=len, reverse=True)))


def linked(source: str) -> Iterator[tuple[str, str]]:
    """Divide a source into texts and the addresses that they link to, "" for none.

    Example:
        >>> list(linked("LMI: Schuster et al. 2019, section 3"))
        [('LMI: ', ''), ('Schuster et al. 2019', 'https://arxiv.org/abs/1908.05267'), (', section 3', '')]
    """
    end = 0
    for match in _WORK.finditer(source):
        if match.start() > end:
            yield source[end : match.start()], ""
        yield match.group(), WORKS[match.group()]
        end = match.end()
    if end < len(source):
        yield source[end:], ""

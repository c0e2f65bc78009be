"""Check the built site: its links, every page in a browser (no error, no network, nothing cut off), and its search.

``make docs-check`` builds the site and runs this.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WIDTHS, HEIGHT = {"desktop": 1280, "phone": 400}, 900
SEARCHES = {
    "certificate": "explanation/",
    "bounds": "reference/api/minmin.Bound.html",
    "tol": "reference/api/minmin.minimize.html",
}
"""What a reader may look for, and how the address of a page that must be found begins."""


def find_pages(site: Path) -> list[Path]:
    """The pages of the site; the theme has templates among its own files."""
    return sorted(file for file in site.rglob("*.html") if "_static" not in file.relative_to(site).parts)


class Page(HTMLParser):
    """The anchors of a page, and what it links to or loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down ids, links and sources."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


def find_broken_links(site: Path) -> Iterator[str]:
    """Links inside the site to a page or an anchor that does not exist, and files that are loaded from elsewhere."""
    pages = {file: Page(file) for file in find_pages(site)}
    for file, page in pages.items():
        name = file.relative_to(site)
        yield from (f"{name}: loads {source}" for source in page.loaded if urlsplit(source).scheme in ("http", "https"))
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                yield f"{name}: {link} does not exist"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: {link} has no such anchor"


@contextmanager
def open_browser() -> Iterator[WebDriver]:
    """Chromium without a window, which keeps what its console says."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        sys.exit("needs Chromium and its driver: the Debian packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = webdriver.Chrome(options, Service(driver))
        browser.set_page_load_timeout(60)
        try:
            yield browser
        finally:
            browser.quit()


def read_console(browser: WebDriver) -> list[str]:
    """What the console says since it was last asked, if it is an error."""
    entries = browser.get_log("browser")  # type: ignore[no-untyped-call]
    return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


def set_width(browser: WebDriver, width: int) -> None:
    """Show the page as if the window had this width."""
    size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def wait_for(browser: WebDriver, script: str, seconds: float = 20.0) -> Any:
    """The first answer of a script that is not empty; None if there is none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if answer := browser.execute_script(script):
            return answer
        time.sleep(0.05)
    return None


FORMULAS_ARE_SET = "return [...document.querySelectorAll('.math')].every(e => e.querySelector('mjx-container'))"
CUT_OFF = """return [...document.querySelectorAll('article *')].filter(
    e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre, table, mjx-container')
).map(e => e.textContent.trim().slice(0, 40))[0]"""
FROM_ELSEWHERE = "return performance.getEntriesByType('resource').map(e => e.name).filter(n => n.startsWith('http'))"
FOUND = "return [...document.querySelectorAll('#search-results li > a')].some(a => a.href.includes('/{}'))"


def open_pages(browser: WebDriver, site: Path) -> Iterator[str]:
    """What is wrong with pages in the browser."""
    for file in find_pages(site):
        name = file.relative_to(site)
        browser.get(file.as_uri())
        if not wait_for(browser, FORMULAS_ARE_SET):
            yield f"{name}: a formula is not set"
        yield from (f"{name}: loads {source}" for source in browser.execute_script(FROM_ELSEWHERE))
        for device, width in WIDTHS.items():
            set_width(browser, width)
            if text := browser.execute_script(CUT_OFF):
                yield f"{name}: wider than a {device}: {text}"
        yield from (f"{name}: {message}" for message in read_console(browser))


def search(browser: WebDriver, site: Path) -> Iterator[str]:
    """Words that the search of the site does not find."""
    for word, wanted in SEARCHES.items():
        browser.get(f"{(site / 'search.html').as_uri()}?q={word}")
        if not wait_for(browser, FOUND.format(wanted)):
            yield f"search: {word!r} does not find {wanted}"
        yield from (f"search {word!r}: {message}" for message in read_console(browser))


def main() -> None:
    """Print what is wrong, one line each; the exit status is 1 if there is anything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path, nargs="?", default=Path("docs/_build/html"))
    site = parser.parse_args().site.resolve()
    wrong = list(find_broken_links(site))
    with open_browser() as browser:
        wrong += [*open_pages(browser, site), *search(browser, site)]
    print("\n".join(wrong) or f"{len(find_pages(site))} pages, all right")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

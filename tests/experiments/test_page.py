"""The page in a real browser: what a reader does, and what the page then shows."""

import json
import os
import shutil
import time

import pytest

from minmin.experiments.claims import Claim, Row, summarise_claims
from minmin.experiments.contestants import CENTRAL

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
)
PANEL = "diagonal/500"
DESKTOP, PHONE = 1280, 390


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        missing = "needs Chromium and its driver: the Debian packages chromium and chromium-driver"
        assert "CI" not in os.environ, missing
        pytest.skip(missing)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options, Service(driver))
    started.set_page_load_timeout(60)
    yield started
    started.quit()


@pytest.fixture
def page(browser, report):
    look(browser, DESKTOP, "light")
    browser.get((report / "index.html").as_uri())
    show(browser, PANEL)
    return browser


def look(browser, width, scheme):
    """Look at pages on a screen of this width, with a light or dark scheme."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def show(browser, panel):
    """Scroll to a panel and wait until it is drawn."""
    browser.execute_script("document.querySelector(`[data-panel='${arguments[0]}']`).scrollIntoView()", panel)
    until(lambda: curves(browser, panel))


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("the page did not change in time")


def curves(browser, panel=PANEL):
    """The lines that a panel draws: x of each by the method's key."""
    return browser.execute_script(
        """const plot = document.querySelector(`[data-panel='${arguments[0]}'] .plot`);
        return Object.fromEntries((plot.data || []).filter((t) => t.meta).map((t) => [t.meta, [...t.x]]));""",
        panel,
    )


def drawn_lines(browser, panel=PANEL):
    """How many lines the drawing itself has."""
    return browser.execute_script(
        "return document.querySelectorAll(`[data-panel='${arguments[0]}'] .scatterlayer path.js-line`).length", panel
    )


def axis_title(browser, panel=PANEL):
    return browser.execute_script(
        "return document.querySelector(`[data-panel='${arguments[0]}'] .xtitle`).textContent", panel
    )


def choose(browser, value):
    browser.find_element("css selector", f"input[name=axis][value={value}]").click()


def medians(report, kind):
    table = json.loads((report / "results.json").read_text())["table"]
    return {e["method"]: e[kind][1] for e in table if (e["setting"], e["level"]) == (PANEL, 0.01)}


def test_curves_end_where_the_table_says(page, report):
    ends = {key: x[-1] for key, x in curves(page).items()}
    assert ends == pytest.approx(medians(report, "grad_x"))
    assert axis_title(page) == "∇ₓ calls"


def test_a_method_is_switched_off_and_on(page):
    assert set(curves(page)) == set(CENTRAL)
    before = drawn_lines(page)
    box = page.find_element("css selector", "#curves input[value=nag]")
    box.click()
    until(lambda: "nag" not in curves(page))
    assert set(curves(page)) == set(CENTRAL) - {"nag"}
    assert drawn_lines(page) == before - 1
    box.click()
    until(lambda: "nag" in curves(page))
    assert drawn_lines(page) == before


def test_the_axis_changes(page, report):
    choose(page, "grad_y")
    until(lambda: axis_title(page) == "∇ᵧ calls")
    assert {key: x[-1] for key, x in curves(page).items()} == pytest.approx(medians(report, "grad_y"))
    choose(page, "seconds")
    until(lambda: axis_title(page) == "seconds")
    assert all(0 < x[-1] < 60 for x in curves(page).values())


def test_the_slider_weighs_both_gradients_and_is_there_only_for_the_cost(page, report):
    from selenium.webdriver.common.keys import Keys

    (slider,) = page.find_elements("css selector", "input[type=range]")
    assert not slider.is_displayed()
    choose(page, "cost")
    until(slider.is_displayed)
    slider.send_keys(Keys.END)
    until(lambda: axis_title(page) == "cost 1000·∇ₓ + ∇ᵧ")
    assert page.find_element("css selector", ".slider output").text == "1000"
    runs = [r for r in json.loads((report / "results.json").read_text())["runs"] if r["setting"] == PANEL]
    for key, x in curves(page).items():
        costs = [1000 * r["grad_x"][-1] + r["grad_y"][-1] for r in runs if r["method"] == key]
        assert x[-1] == pytest.approx(sum(costs) / len(costs))  # the median of two
    slider.send_keys(Keys.HOME)
    until(lambda: axis_title(page) == "cost 1·∇ₓ + ∇ᵧ")
    choose(page, "grad_x")
    until(lambda: not slider.is_displayed())


def test_each_section_has_the_methods_that_it_draws(page):
    show(page, "kappa_x/grad_x")
    page.find_element("css selector", "#scaling input[value=nag]").click()
    until(lambda: "nag" not in curves(page, "kappa_x/grad_x"))
    boxes = page.execute_script("return [...document.querySelectorAll('#scaling .methods input')].map((b) => b.value)")
    assert set(boxes) == set(curves(page, "kappa_x/grad_x")) | {"nag"}
    assert axis_title(page, "kappa_x/grad_x") == "κₓ"
    show(page, PANEL)
    assert "nag" in curves(page)


def test_zoom_and_hover(page):
    from selenium.webdriver import ActionChains

    plot = page.find_element("css selector", f"[data-panel='{PANEL}'] .nsewdrag")

    def shown():
        return page.execute_script(
            "return document.querySelector(`[data-panel='${arguments[0]}'] .plot`).layout.xaxis.range", PANEL
        )

    def hovered():
        return page.execute_script("return document.querySelector('.hoverlayer').textContent")

    whole = shown()
    for right in range(-120, 121, 10):
        ActionChains(page).move_to_element_with_offset(plot, right, -100).perform()
        if "gap" in hovered():
            break
    assert "gap" in hovered()
    actions = ActionChains(page).move_to_element_with_offset(plot, -60, -60).click_and_hold()
    actions.move_by_offset(60, 60).move_by_offset(40, 40).release().perform()
    until(lambda: shown() != whole)
    assert shown()[1] - shown()[0] < whole[1] - whole[0]


def is_dark(colour):
    """Whether a CSS colour is; it must be opaque."""
    channels = [float(part) for part in colour[colour.index("(") + 1 : -1].split(",")]
    assert channels[3:] in ([], [1.0])
    return sum(channels[:3]) < 3 * 128


def colour_of(browser, selector, name):
    return browser.execute_script(
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name
    )


def titles_under_the_bar(browser, jump):
    """The headings and plots' titles that the bar covers, after a jump to each, or where the page is now."""
    return browser.execute_script(
        """const place = (element) => element.getBoundingClientRect();
        const titles = [...document.querySelectorAll("article")].flatMap((article) => [
          [article, article.querySelector("h3")],
          ...[...article.querySelectorAll("figcaption")].map((title) => [title.parentElement, title]),
        ]);
        return titles.filter(([target, title]) => {
          if (arguments[0]) target.scrollIntoView();
          const bars = [...document.querySelectorAll(".controls, .axis")].map(place).filter((bar) => bar.height);
          return bars.some((bar) => bar.top < place(title).bottom && place(title).top < bar.bottom);
        }).map(([_, title]) => title.innerText);""",
        jump,
    )


def wide_tables(browser):
    """For each table: whether it is wider than its place, and whether the page says so."""
    return browser.execute_script(
        """return [...document.querySelectorAll(".scroller")].map((scroller) => {
          const wide = scroller.parentElement;
          const hint = wide.previousElementSibling;
          const isWide = scroller.scrollWidth > scroller.clientWidth + 1;
          return [isWide, wide.classList.contains("more") && hint.offsetHeight > 0];
        });"""
    )


def first_line(folder):
    claims = json.loads((folder / "results.json").read_text())["verdict"]["claims"]
    return summarise_claims([Claim(**{**claim, "rows": [Row(**row) for row in claim["rows"]]}) for claim in claims])


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize(("made", "panel"), [("report", "tight/0.002"), ("relatives", "cutting-kappa")])
def test_it_reads_well(browser, request, made, panel, width, scheme):
    folder = request.getfixturevalue(made)
    look(browser, width, scheme)
    browser.get("about:blank")  # the same address with an anchor would not be loaded again
    browser.get(f"{(folder / 'index.html').as_uri()}#{panel.split('/')[0]}")
    assert browser.execute_script("return document.querySelector('h1 + p').innerText") == first_line(folder)
    until(lambda: curves(browser, panel))
    assert titles_under_the_bar(browser, jump=False) == []
    assert titles_under_the_bar(browser, jump=True) == []
    assert is_dark(colour_of(browser, "body", "backgroundColor")) == (scheme == "dark")
    assert is_dark(colour_of(browser, "body", "color")) == (scheme == "light")
    assert is_dark(colour_of(browser, f"[data-panel='{panel}'] .xtick text", "fill")) == (scheme == "light")
    for bar in browser.find_elements("css selector", ".controls"):
        assert is_dark(bar.value_of_css_property("background-color")) == (scheme == "dark")
    links = browser.execute_script("return [...document.querySelectorAll('nav li li a')].map((a) => a.hash.slice(1))")
    assert links == browser.execute_script("return [...document.querySelectorAll('article')].map((a) => a.id)")
    tables = wide_tables(browser)
    assert all(wider == said for wider, said in tables)
    assert any(wider for wider, _ in tables) == (width == PHONE)
    rights = "return [...document.querySelectorAll('.verdict')].map((v) => v.getBoundingClientRect().right)"
    assert max(browser.execute_script(rights)) <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert errors(browser) == []


def test_it_prints_with_every_panel_light_even_where_the_screen_is_dark(page):
    look(page, DESKTOP, "dark")
    show(page, PANEL)
    until(lambda: not is_dark(colour_of(page, ".plot .xtick text", "fill")))
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    panels = page.execute_script("return [...document.querySelectorAll('.panel')].map((f) => f.dataset.panel)")
    assert len(panels) == 16
    for panel in panels:
        until(lambda panel=panel: drawn_lines(page, panel) >= 7)
    assert is_dark(colour_of(page, ".plot .xtick text", "fill"))
    assert len(page.print_page()) > 100_000


def test_a_report_on_relatives_alone_draws_its_panels_when_they_come_into_sight(browser, relatives):
    look(browser, DESKTOP, "light")
    browser.get((relatives / "index.html").as_uri())
    panels = browser.execute_script("return [...document.querySelectorAll('.panel')].map((f) => f.dataset.panel)")
    assert len(panels) == 9
    for panel in panels:
        show(browser, panel)
        assert drawn_lines(browser, panel) >= 3
    assert axis_title(browser, "cutting-kappa") == "κₓ"
    assert axis_title(browser, "sliding-g").replace("\u200b", "") == "Lg"  # a lower g, between spaces of no width
    assert browser.find_elements("css selector", "input") == []
    assert errors(browser) == []


def test_no_error_on_the_console_and_nothing_leaves_the_page(page):
    choose(page, "cost")
    until(lambda: "·∇ₓ" in axis_title(page))
    assert errors(page) == []
    titles = page.execute_script("return [...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)")
    assert titles
    assert not any("share" in title.lower() or "cloud" in title.lower() for title in titles)
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    ours = [sent["request"]["url"] for sent in requests if sent["documentURL"] == page.current_url]
    assert page.current_url in ours
    assert [url for url in ours if url != page.current_url and not url.startswith(("data:", "blob:"))] == []

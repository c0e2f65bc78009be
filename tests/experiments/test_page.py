"""The page in a real browser: what a reader does, and what the page then shows."""

import json
import os
import shutil
import time

import pytest

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
    browser.set_window_size(1280, 1000)
    browser.get((report / "index.html").as_uri())
    show(browser, PANEL)
    return browser


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
    box = page.find_element("css selector", "#methods input[value=nag]")
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


def test_the_slider_weighs_both_gradients(page, report):
    from selenium.webdriver.common.keys import Keys

    slider = page.find_element("id", "ratio")
    slider.send_keys(Keys.END)
    until(lambda: axis_title(page) == "1000·∇ₓ + ∇ᵧ")
    assert page.find_element("id", "ratio-shown").text == "1000"
    runs = [r for r in json.loads((report / "results.json").read_text())["runs"] if r["setting"] == PANEL]
    for key, x in curves(page).items():
        costs = [1000 * r["grad_x"][-1] + r["grad_y"][-1] for r in runs if r["method"] == key]
        assert x[-1] == pytest.approx(sum(costs) / len(costs))  # the median of two
    slider.send_keys(Keys.HOME)
    until(lambda: axis_title(page) == "1·∇ₓ + ∇ᵧ")


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


def test_no_button_sends_anything_away(page):
    titles = page.execute_script("return [...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)")
    assert titles
    assert not any("share" in title.lower() or "cloud" in title.lower() for title in titles)


def test_the_verdict_can_be_read_on_a_phone(page):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        page.refresh()
        ends = page.execute_script(
            "return [...document.querySelectorAll('#verdict .verdict')].map((v) => v.getBoundingClientRect().right)"
        )
        assert ends
        assert max(ends) <= 390
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_panel_is_drawn_when_it_comes_into_sight(page):
    panels = page.execute_script("return [...document.querySelectorAll('.panel')].map((f) => f.dataset.panel)")
    assert len(panels) == 16
    for panel in panels:
        show(page, panel)
        assert drawn_lines(page, panel) >= 7


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_is_wider_than_the_screen(page, width):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    try:
        page.refresh()
        show(page, PANEL)
        until(lambda: page.execute_script("return document.documentElement.scrollWidth") <= width)
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_prints_with_every_panel(page):
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    until(lambda: page.execute_script("return document.querySelectorAll('.plot .main-svg').length") >= 16)
    assert len(page.print_page()) > 100_000


def test_a_report_on_relatives_alone_draws_its_panels_and_fits_the_screen(browser, relatives):
    browser.set_window_size(1280, 1000)
    browser.get((relatives / "index.html").as_uri())
    panels = browser.execute_script("return [...document.querySelectorAll('.panel')].map((f) => f.dataset.panel)")
    assert len(panels) == 9
    for panel in panels:
        show(browser, panel)
        assert drawn_lines(browser, panel) >= 3
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1280
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_no_error_on_the_console_and_no_request_leaves_the_page(page):
    choose(page, "cost")
    until(lambda: "·∇ₓ" in axis_title(page))
    assert [entry for entry in page.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    ours = [sent["request"]["url"] for sent in requests if sent["documentURL"] == page.current_url]
    assert page.current_url in ours
    assert [url for url in ours if url != page.current_url and not url.startswith(("data:", "blob:"))] == []

"""A real Chromium without a window, started once; skipped where there is none, unless this is CI."""

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from simulated_models import calibrated

CHROMIUM, DRIVER = ("chromium", "chromium-browser", "google-chrome"), "chromedriver"
FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-dev-shm-usage",
    "hide-scrollbars",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
)


class Browser:
    """A page in Chromium, and what Chromium has to say about it."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path, *, width=1280, scheme="light", media="", scripts=True):
        self.do("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.resize(width)
        colours = [{"name": "prefers-color-scheme", "value": scheme}]
        self.do("Emulation.setEmulatedMedia", media=media, features=colours)
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get(path if isinstance(path, str) else path.as_uri())

    def resize(self, width):
        phone = width < 600
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)

    def do(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, css):
        return self.driver.find_element("css selector", css)

    def all(self, css):
        return self.driver.find_elements("css selector", css)

    def texts(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent.trim())", css)

    def values(self, css):
        """Exact numbers; nan for undefined ones."""
        found = self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.dataset.value)", css)
        return [float(value or "nan") for value in found]

    def shown(self, css):
        """Which of the elements take up room on the page."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.checkVisibility())", css)

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requested(self):
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def give_up(reason):
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="session")
def browser(tmp_path_factory, downloads):
    try:
        from selenium import webdriver
    except ImportError:
        give_up("selenium is not installed")
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    driver = shutil.which(DRIVER)
    if not (chromium and driver):
        give_up("Chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield Browser(started)
    started.quit()


@pytest.fixture(scope="session")
def axe():
    """What axe-core runs in a page; `make test` fetches it."""
    script = Path(sys.prefix) / "axe/node_modules/axe-core/axe.min.js"
    if not script.exists():
        give_up("axe-core is not installed: it takes npm, and `make test` fetches it")
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """Six classifiers of ten classes, two of them sure enough to have an infinite log loss."""
    pytest.importorskip("jinja2")
    from pandora_regret import compare
    from pandora_regret.report import write_report

    truth = np.random.default_rng(0).integers(0, 10, 900)
    skills = {"Linear": 2.6, "Bayes": 2.3, "Neighbours": 2.0, "Tree": 1.5, "Stump": 0.8, "Frequencies": 0.0}
    forecasts = {name: calibrated(truth, skill, n, 10) for n, (name, skill) in enumerate(skills.items())}
    for name in ("Tree", "Neighbours"):
        sure = np.where(forecasts[name] < 0.01, 0.0, forecasts[name])
        forecasts[name] = sure / sure.sum(axis=1, keepdims=True)
    prices = [12.0, 45.0, 20.0, 30.0, 18.0, 25.0, 60.0, 15.0, 40.0, 22.0]
    dear = [300.0 if k == 6 else price for k, price in enumerate(prices)]
    found = compare(truth, forecasts, costs=prices, currency="USD", scenarios={"a dear six": dear})
    path = write_report(found, tmp_path_factory.mktemp("report") / "report.html", title="Ten classes")
    return SimpleNamespace(path=path, comparison=found, prices=prices, truth=truth, forecasts=forecasts)

"""The documentation in a real browser: every page on a phone, without errors and without the network."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import sleep

import pytest
from docs_site import PAGES

PHONE, DESK = 390, 1300


class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files

    def log_message(self, *_):
        """Not a word."""


class Server(ThreadingHTTPServer):
    request_queue_size = 64  # a browser asks for many files at once

    def handle_error(self, *_):
        """A browser that hangs up is no error."""


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served, until all tests are done."""
    with Server(("127.0.0.1", 0), partial(Handler, directory=site.folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def visit(browser, address, page, width):
    """Open a page; a busy machine may still be at the browser's own first page, so look twice."""
    for _ in range(3):
        browser.open(address + address_of(page), width=width)
        for _ in range(20):
            if browser.run("return document.readyState === 'complete' && document.querySelector('h1') !== null"):
                return
            sleep(0.1)
    pytest.fail(f"{page} has no heading: {browser.run('return document.documentElement.outerHTML')[:500]}")


def address_of(page):
    """Of study.md: study/, and of a file of the site: itself."""
    return page if page.endswith(".html") else page.removesuffix(".md").removesuffix("index").strip("/") + "/"


def requests_of(browser, address):
    """What was asked for here, and what elsewhere; the browser's own pages are neither."""
    requested = [url for url in browser.requested() if not url.startswith("chrome:")]
    ours = [url for url in requested if url.startswith((address, "data:", "blob:"))]
    return ours, sorted(set(requested) - set(ours))


def test_every_page_fits_a_phone_and_a_desk_and_asks_nobody_else(browser, site, address):
    """No page is wider than its window; what is too long for it, such as code, scrolls in a box of its own."""
    pages = sorted(path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        visit(browser, address, page, DESK)
        assert settled_width(browser, DESK) == DESK, page
        browser.resize(PHONE)  # the other way round, it would take the drawer with the contents a while to move
        assert settled_width(browser, PHONE) == PHONE, page
        assert all(browser.run("return [...document.images].map(i => i.complete && i.naturalWidth)")), page
        assert browser.complaints() == [], page
        ours, others = requests_of(browser, address)
        assert len(ours) > 3, page
        assert others == [], page


def settled_width(browser, expected):
    """Of the page, on a machine that may be busy."""
    for _ in range(20):
        width = browser.run("return document.documentElement.scrollWidth")
        if width == expected:
            break
        sleep(0.05)
    return width


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_landing_page_stands_still_and_says_how_to_install_on_its_first_screen(browser, address, width):
    visit(browser, address, "index.md", width)
    rooms = browser.run(
        "return [...document.querySelectorAll('pre > code')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert len(rooms) > 1
    assert all(needed <= room for needed, room in rooms)
    assert browser.run("return document.querySelector('pre').getBoundingClientRect().bottom") < 900
    shift = "const seen = []; new PerformanceObserver(l => seen.push(...l.getEntries().map(e => e.value)))"
    shift += ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => arguments[0](seen), 300)"
    assert sum(browser.driver.execute_async_script(shift)) < 0.02
    pictures = browser.run("return [...document.images].map(i => [i.alt, i.getAttribute('height')])")
    assert len(pictures) > 2
    assert all(alt and height for alt, height in pictures)


CONTRASTS = """
    const parts = text => text.match(/[\\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], back) => [r, g, b].map((c, k) => c * a + back[k] * (1 - a));
    const behind = e => {
        const colour = parts(getComputedStyle(e).backgroundColor), parent = e.parentElement;
        return (colour[3] ?? 1) === 1 ? colour : over(colour, parent ? behind(parent) : [255, 255, 255]);
    };
    const linear = v => v <= 0.04045 * 255 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
    const light = c => c.slice(0, 3).map(linear)
        .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
    const ofText = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    const shown = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true});
    return [...document.body.querySelectorAll('*')].filter(e => ofText(e) && shown(e)).map(e => {
        const back = behind(e), colour = parts(getComputedStyle(e).color);
        const [a, b] = [light(over(colour, back)), light(back)].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), e.textContent.trim().slice(0, 40)];
    });
"""


@pytest.mark.parametrize(("scheme", "name"), [("light", "default"), ("dark", "slate")])
def test_the_words_of_the_landing_page_stand_out_from_what_is_behind_them(browser, address, scheme, name):
    visit(browser, address, "index.md", DESK)
    browser.run("localStorage.clear()")  # which remembers the scheme of the first visit
    browser.open(address, width=DESK, scheme=scheme)
    assert browser.run("return document.body.dataset.mdColorScheme") == name
    contrasts = browser.run(CONTRASTS)
    assert len(contrasts) > 60
    assert [(ratio, text) for ratio, text in contrasts if ratio < 4.5 and text != "¶"] == []


def test_formulas_are_drawn(browser, address):
    visit(browser, address, "theory/search.md", DESK)
    boxes = browser.run(
        "return [...document.querySelectorAll('math')].map(e => e.getBoundingClientRect())"
        ".map(b => [b.width, b.height])"
    )
    assert len(boxes) > 40
    assert all(width > 4 and height > 4 for width, height in boxes)
    assert browser.run("return document.fonts.check('16px Formulas')")
    one_line, brace = browser.run(
        "const row = document.querySelector('math mtable mtr').getBoundingClientRect().height;"
        "const brace = [...document.querySelectorAll('math mo')].find(o => o.textContent === '{');"
        "return [row, brace.getBoundingClientRect().height]"
    )
    assert brace > 1.5 * one_line  # it stretches over both cases


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("melanoma", "pathway-costs/"),
        ("late labels", "monitoring/"),
        ("fairness", "how-to/subgroups/"),
    ],
)
def test_search_finds_without_network(browser, address, words, page):
    visit(browser, address, "index.md", DESK)
    browser.find("input[data-md-component=search-query]").send_keys(words)
    wait_for(browser, ".md-search-result__item")
    links = browser.run("return [...document.querySelectorAll('a.md-search-result__link')].map(a => a.href)")
    assert any(f"/{page}" in link for link in links)
    assert requests_of(browser, address)[1] == []


def wait_for(browser, css):
    script = (
        "const [css, done] = arguments; const look = () => { const found = [...document.querySelectorAll(css)];"
        "found.length ? done(found.map(e => e.textContent)) : setTimeout(look, 50) }; look()"
    )
    browser.driver.set_script_timeout(20)
    return browser.driver.execute_async_script(script, css)


def test_copying_an_example_takes_the_code_and_not_the_prompts(browser, address):
    visit(browser, address, "start.md", DESK)
    browser.run("document.addEventListener('copy', () => { window.copied = document.activeElement.value })")
    wait_for(browser, ".md-content h2 ~ .highlight [data-clipboard-target]")
    browser.find(".md-content h2 ~ .highlight [data-clipboard-target]").click()
    copied = browser.run("return window.copied")
    assert copied.startswith("from pandora_regret import")
    assert ">>>" not in copied
    assert "[0.083, 0.159]" not in copied

"""A browser, and pages in it that must not ask the network for anything or say anything on the console."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-extensions"]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="these tests drive a browser through playwright")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def open_file(browser):
    """Opens a file in a page of its own; at the end there must have been no request, error or dialog."""
    troubles, pages = [], []

    def opened(path, **options):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **options})
        pages.append(page)
        page.on("request", lambda request: request.url == path.as_uri() or troubles.append(request.url))
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]", state="attached")
        return page

    yield opened
    for page in pages:
        page.close()
    assert [trouble for trouble in troubles if not trouble.startswith("blob:")] == []

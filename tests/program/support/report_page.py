"""A page of --report as files, without a browser."""

import base64
import hashlib
import html.parser
import json


class Page(html.parser.HTMLParser):
    """Scripts, as a parser of HTML sees them, and the page's policy."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.policy, self.open, self.sources = [], "", None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.sources += [given[key] for key in ("src", "href") if key in given]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "script":
            self.scripts.append([given.get("type"), ""])
            self.open = self.scripts[-1]

    def handle_endtag(self, tag):
        if tag == "script":
            self.open = None

    def handle_data(self, data):
        if self.open is not None:
            self.open[1] += data


def check_page(test, record, text):
    """It holds the record as JSON, loads nothing, and runs no script but its own."""
    page = Page(text)
    test.assertEqual(["application/json", None], [kind for kind, _ in page.scripts])
    test.assertEqual(record, json.loads(page.scripts[0][1]))
    test.assertEqual([], page.sources)
    digest = base64.b64encode(hashlib.sha256(page.scripts[1][1].encode()).digest()).decode()
    test.assertIn(f"script-src 'sha256-{digest}'", page.policy, f"page/script_hash.inc must be \"{digest}\"")
    test.assertTrue(page.policy.startswith("default-src 'none'; "))
    test.assertNotRegex(page.scripts[1][1], r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|fetch\(|https?://(?!www\.w3\.org/2000/svg)")

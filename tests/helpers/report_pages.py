"""Comparisons to report on, and the page taken apart, for whoever tests the page."""

from html.parser import HTMLParser

import numpy as np
from asked import compare_with


def forecasts(rng, n_classes=4, rows=80):
    truth = rng.integers(n_classes, size=rows)
    scores = rng.normal(size=(rows, n_classes)) + 2.0 * np.eye(n_classes)[truth]
    return truth, np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def compared(n_models=3, n_classes=4, names=None, labels=None, rows=80, **options):
    truth, first = forecasts(np.random.default_rng(0), n_classes=n_classes, rows=rows)
    names = names or [f"model {i}" for i in range(n_models)]
    models = {name: first ** (1 / (1 + i)) for i, name in enumerate(names)}
    models = {name: p / p.sum(axis=1, keepdims=True) for name, p in models.items()}
    truth = truth if labels is None else np.array(labels, dtype=object)[truth]
    return compare_with(truth, models, labels=labels, **options)


class Page(HTMLParser):
    """Elements with their attributes and text, in order."""

    VOID = frozenset({"meta", "link", "input", "br", "img"})

    def __init__(self, text):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", "inside": [e["attributes"].get("id") for e in self._open]}
        element["attributes"] = dict(attributes)
        self.elements.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, inside=None, **attributes):
        return [
            e
            for e in self.elements
            if e["tag"] == tag
            and (inside is None or inside in e["inside"])
            and all(e["attributes"].get(key.rstrip("_")) == value for key, value in attributes.items())
        ]

    def numbers(self, inside):
        cells = self.all("td", inside=inside)
        return [float(e["attributes"]["data-value"] or "nan") for e in cells if "data-value" in e["attributes"]]

"""HTML as a tree, so that a text can never become an element, an attribute or a script."""

import json
import re
from xml.etree import ElementTree

FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def E(tag, *children, **attributes):
    """An element. Attribute names: class_ for class, aria_label for aria-label; a value of None leaves it out."""
    element = ElementTree.Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            element.set(name.rstrip("_").replace("_", "-"), "" if value is True else clean(str(value)))
    last = None
    for child in flat(children):
        if isinstance(child, ElementTree.Element):
            element.append(child)
            last = child
        elif last is None:
            element.text = (element.text or "") + clean(str(child))
        else:
            last.tail = (last.tail or "") + clean(str(child))
    return element


def flat(children):
    for child in children:
        if child is None or child == "":
            continue
        if isinstance(child, (list, tuple)):
            yield from flat(child)
        else:
            yield child


def clean(text):
    """Without characters that no HTML may have: controls and halves of surrogate pairs."""
    return FORBIDDEN.sub("\ufffd", text)


def written(element):
    return ElementTree.tostring(element, encoding="unicode", method="html")


def data(value):
    """JSON for a script element of the page: no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

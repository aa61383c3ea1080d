"""docs/plugins.md as data: the files that its reader writes, the commands and what they say, the mistakes."""

import re
from typing import NamedTuple

from tests.docs.printed import ROOT

PAGE = ROOT / "docs" / "plugins.md"
TEXT = PAGE.read_text()

FILES = dict(re.findall(r"`(\w+\.\w+)`:\n\n```\w+\n(.*?)^```$", TEXT, flags=re.S | re.M))
"""As the reader is told to write them."""
FAULTY = re.search(r"Write `(.*?)` in `teams\.py`", TEXT)[1]
"""The line that the reader is told to break it with."""
COLUMNS = re.search(r"^```python\n(import numpy.*?)^```$", TEXT, flags=re.S | re.M)[1]
"""The same plugin in its other form."""
ARGUMENTS = re.search(r"^```yaml\n( +pluginConfig:.*?)^```$", TEXT, flags=re.S | re.M)[1]


class Command(NamedTuple):
    line: str
    says: str


def commands(title):
    """Those below a heading, in order."""
    section = re.split(r"^##+ ", TEXT.partition(f" {title}\n")[2], flags=re.M)[0]
    blocks = re.findall(r"^```console\n(.*?)^```$", section, flags=re.S | re.M)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    return [Command(*part.split("\n", 1)) for part in parts]


def mistakes():
    """What is said of each: at the start, and while Muster runs."""
    tables = re.findall(r"^\| mistake \|.*?(?=\n\n)", TEXT, flags=re.S | re.M)
    rows = [re.findall(r"^\| (.*?) \| `(.*)` \|$", table, flags=re.M) for table in tables]
    return [dict(found) for found in rows]


def faulty():
    """The reader's plugin once it is broken."""
    return re.sub(r"owner = .*", FAULTY, FILES["teams.py"])


def write(folder, **more):
    for name, text in {**FILES, **more}.items():
        (folder / name).write_text(text)

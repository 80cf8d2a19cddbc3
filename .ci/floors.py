"""Print the lowest versions that pyproject.toml declares, as pins for pip: python .ci/floors.py cli,plot"""

import re
import sys
import tomllib
from pathlib import Path

DECLARED = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
PROJECT = DECLARED["project"]


def gather(extras: str) -> set[str]:
    """The requirements of these extras, those that they name in turn included."""
    found: set[str] = set()
    for extra in extras.split(","):
        for need in PROJECT["optional-dependencies"][extra]:
            inner = re.fullmatch(r"acyclic\[(.*)\]", need)
            found |= gather(inner[1]) if inner else {need}
    return found


for need in sorted({*DECLARED["build-system"]["requires"], *PROJECT["dependencies"], *gather(sys.argv[1])}):
    print(need.replace(">=", "=="))

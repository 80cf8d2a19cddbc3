"""``python -m acyclic`` is the command ``acyclic``."""

from acyclic.cli import main

raise SystemExit(main())

"""``python -m tonnage.cli``."""

import sys

from tonnage.cli import main

sys.exit(main())

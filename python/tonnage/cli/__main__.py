"""``python -m tonnage.cli``."""

import signal
import sys

from tonnage.cli import main

try:
    code = main()
    # What was asked for is done, and said: a signal while Python takes itself down changes nothing of that.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
except KeyboardInterrupt:
    code = 130
sys.exit(code)

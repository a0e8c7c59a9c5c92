"""A server that is hard to end. The word says how: obedient, deaf (to end of input), stubborn.

It starts a child of its own first and writes both process ids to stderr.
"""

import os
import signal
import subprocess
import sys
import time

kind = sys.argv[1]
if kind == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
words = [sys.executable, "-c", "import sys, time; time.sleep(float(sys.argv[1]))", "600"]
child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
os.write(2, f"{os.getpid()} {child.pid}\n".encode())
for _line in sys.stdin:
    pass
if kind != "obedient":
    time.sleep(600)

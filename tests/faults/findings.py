"""What a program has found: each check is printed when it is made, and the program ends with 1 if one has failed."""

import argparse
import sys
import time

from servers import Address


class Findings:
    def __init__(self):
        self.failed = 0

    def check(self, name, passed, figures=""):
        print(f"    {'passed' if passed else 'FAILED'}: {name}{': ' if figures else ''}{figures}", flush=True)
        self.failed += not passed

    def end(self):
        sys.exit(1 if self.failed else 0)


def arguments(description, takes_address=False):
    """The options of a program: the binary that it starts, or also the address of a server that runs, such as MySQL."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group(required=True) if takes_address else parser
    which.add_argument("--muster", required=not takes_address, help="the path of the binary, which is started on a new directory")
    if takes_address:
        which.add_argument("--address", type=Address, help="the port or the socket of a server that runs, such as MySQL")
    return parser


def seconds_of(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin

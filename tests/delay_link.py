"""A link between two network namespaces that delays every packet: a TAP device at each end, and this process between
them. Kernels without the queueing discipline netem have no other.

    nsenter --net=INSIDE delay_link.py SECONDS INSIDE_NAME OUTSIDE OUTSIDE_NAME

Makes INSIDE_NAME in the namespace that it starts in and OUTSIDE_NAME in that of the process OUTSIDE, prints a line when
both exist, and forwards frames until it is killed. It carries a few Gbit/s, if frames are large.
"""

import collections
import ctypes
import fcntl
import os
import select
import signal
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
LARGEST_FRAME = 1 << 16
AT_ONCE = 64  # frames taken before those are delivered that are due
PR_SET_PDEATHSIG = 1


def open_tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def enter_network_of(process):
    namespace = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"setns to process {process}")
    os.close(namespace)


class Direction:
    """Frames on their way from one device to the other."""

    def __init__(self, source, target, delay_s):
        self.source, self.target, self.delay_s = source, target, delay_s
        self.frames = collections.deque()

    def take(self):
        """Takes what has come."""
        for _ in range(AT_ONCE):
            try:
                frame = os.read(self.source, LARGEST_FRAME)
            except OSError:  # nothing more, or the device is down
                return
            self.frames.append((time.monotonic() + self.delay_s, frame))

    def deliver(self):
        """Delivers what is due; returns seconds until the next is, or None."""
        while self.frames:
            left = self.frames[0][0] - time.monotonic()
            if left > 0:
                return left
            try:
                os.write(self.target, self.frames.popleft()[1])
            except OSError:  # the device is down: as on a cable, the frame is lost
                pass
        return None


def main():
    delay_s, inside, outside_process, outside = float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # it ends with hosts.sh, however that ends
    first = open_tap(inside)
    enter_network_of(outside_process)
    second = open_tap(outside)
    print("ready", flush=True)
    directions = {first: Direction(first, second, delay_s), second: Direction(second, first, delay_s)}
    while True:
        waits = [wait for wait in (one.deliver() for one in directions.values()) if wait is not None]
        for device in select.select(list(directions), [], [], min(waits, default=None))[0]:
            directions[device].take()


if __name__ == "__main__":
    main()

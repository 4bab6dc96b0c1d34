"""Runs a command in a pseudo-terminal: stdin and stdout are the keys and the screen, and each line of descriptor 3 is a
new size, as "COLUMNS ROWS". Ends with the exit code of the command."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])

sizes = os.fdopen(3)
watched = [0, sizes, screen]
while True:
    ready, _, _ = select.select(watched, [], [])
    if screen in ready:
        try:
            shown = os.read(screen, 65536)
        except OSError:
            break
        while shown:
            shown = shown[os.write(1, shown) :]
    if 0 in ready:
        keys = os.read(0, 65536)
        if keys:
            os.write(screen, keys)
        else:
            watched.remove(0)
    if sizes in ready:
        line = sizes.readline()
        if line:
            columns, rows = map(int, line.split())
            fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        else:
            watched.remove(sizes)

_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)

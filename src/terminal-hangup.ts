// Distinguishes the two meanings of SIGHUP: the terminal of the program was closed, or a service manager
// requests a reload. File descriptors of a closed terminal are not terminals any more, which decides the
// case.

import { isatty } from 'node:tty';

const STREAMS = [0, 1, 2];

/** Returns a function that returns true if the program was started from a terminal that is closed now. */
export function terminalHangup(): () => boolean {
  const terminals = STREAMS.filter((stream) => isatty(stream));
  return () => terminals.length > 0 && !terminals.some((stream) => isatty(stream));
}

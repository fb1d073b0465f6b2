// Which of the last lines on stderr tells why a process is gone. It is the last one, but where Node has ended a program for
// an error that nobody caught: there the error is followed by its stack and its members, and by Node's own version.

/** How Node ends a program for an uncaught error: with this line below everything that is known of it. */
const nodesEnd = /^Node\.js v\d/;
/** The error stands below the line that points at where it was thrown. */
const pointer = /^\s*\^+$/;
/** What the error's first line mostly looks like; a bundle's lines are too long for the pointer to be kept. */
const errorLine = /^\w*Error\b/;

/** The most telling of `lines`, and what it is; undefined when there are none. */
export function tellingLine(lines: readonly string[]): string | undefined {
  const last = lines.at(-1);
  if (last === undefined) return undefined;
  const error = nodesEnd.test(last) ? errorIn(lines) : undefined;
  return error === undefined ? `its last line on stderr: ${last}` : `its last error on stderr: ${error}`;
}

/** Lines of a message may look like errors, too: where there is a pointer, it is what counts. */
function errorIn(lines: readonly string[]): string | undefined {
  const below = lines.findLast((_, at) => pointer.test(lines[at - 1] ?? ''));
  return below ?? lines.findLast((line) => errorLine.test(line));
}

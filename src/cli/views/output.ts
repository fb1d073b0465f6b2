// What is printed, and the one place where text meets a terminal. Writing to stdout waits until it is written: the program
// ends with process.exit, which waits for nothing.

import { inspect } from 'node:util';
import { forTerminal, jsonForTerminal } from '../../terminal/terminal-text.ts';

/** Or takes nothing more, as a full disk does. */
let isReaderGone = false;

/** For people, on stderr. A fault of ours is shown with its stack. */
export function complain(what: unknown): void {
  console.error(forTerminal(typeof what === 'string' ? what : inspect(what)));
}

/** JSON for programs, which a terminal may show as well. Resolves as `print` does. */
export function printJson(json: string): Promise<boolean> {
  return write(`${jsonForTerminal(json)}\n`);
}

/** For people; resolves with false once the reader has left, as `head` does, which is no failure of ours. */
export function print(text: string): Promise<boolean> {
  return write(forTerminal(text));
}

function onFault({ code, message }: NodeJS.ErrnoException): void {
  isReaderGone = true;
  if (code === 'EPIPE') return;
  complain(`stdout takes no more: ${message}`);
  process.once('exit', () => {
    process.exitCode ||= 1;
  });
}

function write(text: string): Promise<boolean> {
  if (isReaderGone) return Promise.resolve(false);
  // Without a listener a closed pipe is an uncaught exception.
  if (process.stdout.listenerCount('error') === 0) {
    process.stdout.on('error', onFault);
  }
  return new Promise((done) => {
    process.stdout.write(text, (error) => done(error === undefined || error === null));
  });
}

// Prints to stdout and stderr, and makes the text safe for terminals. Commands must await the promises:
// process.exit would discard pending writes.

import { inspect } from 'node:util';
import { forTerminal, jsonForTerminal } from '../../terminal/terminal-text.ts';

/** True if the reader has closed stdout, or a write has failed. */
let isReaderClosed = false;

/** Prints a message on stderr. An error object is printed with its stack. */
export function printMessage(what: unknown): void {
  console.error(forTerminal(typeof what === 'string' ? what : inspect(what)));
}

/** Prints JSON in a form that is safe for a terminal. Resolves like `print`. */
export function printJson(json: string): Promise<boolean> {
  return write(`${jsonForTerminal(json)}\n`);
}

/**
 * Prints text. Resolves with false if the reader, such as `head`, has closed stdout; this is not an error.
 */
export function print(text: string): Promise<boolean> {
  return write(forTerminal(text));
}

function onWriteError({ code, message }: NodeJS.ErrnoException): void {
  isReaderClosed = true;
  if (code === 'EPIPE') return;
  printMessage(`could not write to stdout: ${message}`);
  process.once('exit', () => {
    process.exitCode ||= 1;
  });
}

function write(text: string): Promise<boolean> {
  if (isReaderClosed) return Promise.resolve(false);
  // If there were no listener, a closed pipe would be an uncaught exception.
  if (process.stdout.listenerCount('error') === 0) {
    process.stdout.on('error', onWriteError);
  }
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(error === undefined || error === null));
  });
}

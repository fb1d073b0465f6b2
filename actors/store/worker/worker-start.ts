// Waits for the first message of a worker: that it has opened the file, or why not. A worker that ends before it says
// anything, most often because the driver's package for this machine is missing, is reported by what ended it.

import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { WorkerMessage } from './store-messages.ts';

/** Packages that are not there, or are built for another machine or another Node.js. */
const INSTALL_CODES = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED']);

/** Rejects with an error that says in words, on one line, why nothing came. */
export async function firstMessageOf(worker: Worker, timeoutMs: number): Promise<WorkerMessage> {
  const over = new AbortController();
  const timer = setTimeout(() => {
    over.abort(new Error(`it said nothing for ${timeoutMs / 1000} s; its disk may hang`));
  }, timeoutMs);
  const onExit = (code: number) => over.abort(new Error(`it ended with code ${code}`));
  worker.once('exit', onExit);
  try {
    const [message] = (await once(worker, 'message', { signal: over.signal })) as [WorkerMessage];
    return message;
  } catch (cause) {
    // An error and the exit may be heard of in one turn, and then the error says more.
    const wasAborted = cause instanceof Error && cause.name === 'AbortError';
    const reason: unknown = wasAborted ? over.signal.reason : cause;
    throw new Error(inWords(reason), { cause });
  } finally {
    clearTimeout(timer);
    worker.off('exit', onExit);
  }
}

function inWords(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  const { code } = reason as NodeJS.ErrnoException;
  // What follows the first line is who asked for the module.
  const [what = ''] = reason.message.split('\n');
  if (code === undefined) return what;
  return `${what}${INSTALL_CODES.has(code) ? adviceOn(what) : ''} (${code})`;
}

/** A file that is named by its path, and is in no package of another's, is one of our own. */
function adviceOn(what: string): string {
  const isOwn = /'(?:\/|[A-Za-z]:)[^']*'/.test(what) && !what.includes('node_modules');
  return isOwn
    ? '; a file of the gateway itself is missing: run npm run build, or install it anew'
    : '; run npm ci with the Node.js that runs the gateway';
}

// Waits for the first message of the worker thread: the file is open, or an error. If the worker exits before
// that, the usual cause is that the driver's package for this platform is missing.

import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { WorkerMessage } from './store-messages.ts';

/** Error codes of packages that are missing or built for another platform or Node.js version. */
const INSTALL_CODES = new Set(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND', 'ERR_DLOPEN_FAILED']);

/** Rejects with an error whose message is one line for operators. */
export async function firstMessageOf(worker: Worker, timeoutMs: number): Promise<WorkerMessage> {
  const abort = new AbortController();
  const timer = setTimeout(() => {
    abort.abort(new Error(`no message within ${timeoutMs / 1000} s; the disk may hang`));
  }, timeoutMs);
  const onExit = (code: number) => abort.abort(new Error(`the worker exited with code ${code}`));
  worker.once('exit', onExit);
  try {
    const [message] = (await once(worker, 'message', { signal: abort.signal })) as [WorkerMessage];
    return message;
  } catch (cause) {
    // The error and the exit may be emitted together; the error has more details.
    const wasAborted = cause instanceof Error && cause.name === 'AbortError';
    const reason: unknown = wasAborted ? abort.signal.reason : cause;
    throw new Error(describe(reason), { cause });
  } finally {
    clearTimeout(timer);
    worker.off('exit', onExit);
  }
}

function describe(reason: unknown): string {
  if (!(reason instanceof Error)) return String(reason);
  const { code } = reason as NodeJS.ErrnoException;
  // Further lines list the modules that required it.
  const [what = ''] = reason.message.split('\n');
  if (code === undefined) return what;
  return `${what}${INSTALL_CODES.has(code) ? adviceOn(what) : ''} (${code})`;
}

/** A missing file with an absolute path outside node_modules belongs to the gateway itself. */
function adviceOn(what: string): string {
  const isOwn = /'(?:\/|[A-Za-z]:)[^']*'/.test(what) && !what.includes('node_modules');
  return isOwn
    ? '; a file of the gateway itself is missing: run npm run build, or reinstall it'
    : '; run npm ci with the Node.js that runs the gateway';
}

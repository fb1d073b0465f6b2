// As whom the browser runs. A browser that a page takes over must not be root, and Chromium's sandbox refuses to work for
// root anyway. So for root the browser is started through setpriv, as a user that owns nothing.
//
// 1. Every program of this user is started with `prefix` before its own command line.
// 2. With the sandbox on it is this user or an error, never root.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ToolError } from '../../tool-error.ts';
import { findProgram } from './find-browser.ts';

/** `nobody` of every usual system. */
const UNPRIVILEGED_ID = 65534;
const PROBE_MS = 5_000;

export interface BrowserUser {
  readonly uid: number;
  readonly gid: number;
  /** The command and arguments that turn into this user. */
  readonly prefix: readonly [string, ...string[]];
}

/**
 * The user to run the browser as; undefined: the one who runs this program.
 * @throws ToolError when this is root and there is no way to become somebody else
 */
export async function browserUser(isSandboxed: boolean): Promise<BrowserUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = String(UNPRIVILEGED_ID);
  const setpriv = findProgram('setpriv');
  if (setpriv !== undefined) {
    const prefix = [setpriv, `--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--inh-caps=-all'] as const;
    if (await isUsable(prefix)) return { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID, prefix: [...prefix] };
  }
  if (!isSandboxed) return undefined;
  const why =
    setpriv === undefined
      ? 'setpriv is missing (Debian package util-linux)'
      : `setpriv cannot become user ${id} here (is that user mapped into this container?)`;
  throw new ToolError(
    `The browser was not started: this server runs as root, the browser's sandbox needs an unprivileged user, and ${why}. ` +
      'Its operator can run the server as another user, or start it with --no-sandbox if all pages are trusted.',
  );
}

async function isUsable([command, ...options]: readonly [string, ...string[]]): Promise<boolean> {
  try {
    await promisify(execFile)(command, [...options, '--', 'true'], { timeout: PROBE_MS });
    return true;
  } catch {
    return false;
  }
}

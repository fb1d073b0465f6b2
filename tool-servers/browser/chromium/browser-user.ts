// User account of the browser. A compromised browser must not be root, and the Chromium sandbox does not run
// as root. If this process is root, the browser is started through setpriv as an unprivileged user without
// files.
//
// 1. Commands on this user's files also run with `prefix`.
// 2. With the sandbox enabled, the browser runs as this user or fails to start; it never runs as root.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ToolError } from '../../tool-error.ts';
import { findProgram } from './find-browser.ts';

/** `nobody` on common systems. */
const UNPRIVILEGED_ID = 65534;
const PROBE_MS = 5_000;

export interface BrowserUser {
  readonly uid: number;
  readonly gid: number;
  /** Command and arguments that switch to this user. */
  readonly prefix: readonly [string, ...string[]];
}

/**
 * Returns the user for the browser; undefined if it runs as the user of this server.
 * @throws ToolError if this process is root and cannot switch users
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
  const cause =
    setpriv === undefined
      ? 'setpriv is missing (Debian package util-linux)'
      : `setpriv cannot become user ${id} here (is that user mapped into this container?)`;
  throw new ToolError(
    `The browser was not started: this server runs as root, the sandbox needs an unprivileged user, and ${cause}. ` +
      'The operator can run the server as another user, or start it with --no-sandbox if all pages are trusted.',
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

// Errors for local servers that could not be started, with a remedy for the operator. The system reports
// ENOENT for a missing program, interpreter or folder; these cases are distinguished here.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { StartFailedError } from '../../../base/errors/errors.ts';
import type { Redactor } from '../../../base/errors/redact.ts';

/** Command line, environment and working directory of a local server. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** The complete environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Returns the error for a failed process start, without the arguments, which often contain secrets. */
export function startFailure(launch: Launch, error: Error, redactor: Redactor): StartFailedError {
  const code = (error as NodeJS.ErrnoException).code;
  const { command, cwd } = launch;
  const reason = reasonFor(launch, code) ?? error.message;
  // The original error is not set as `cause`, because it contains every argument.
  return new StartFailedError(redactor.redact(`could not start "${command}" in ${cwd}: ${reason}`));
}

function reasonFor({ command, env, cwd }: Launch, code: string | undefined): string | undefined {
  if (!isFolder(cwd)) return 'that folder does not exist; correct `cwd:` of this server';
  if (code === 'ENOENT') {
    if (command.includes('/'))
      return kindOf(resolve(cwd, command)) === undefined
        ? 'the file does not exist; correct `command:` of this server'
        : 'the interpreter named in its first line does not exist; install it, or correct that line';
    return (
      `no such program on PATH (${env.PATH ?? 'not set'}); install it, set its full path as ` +
      '`command:`, or set PATH under `env:` of this server'
    );
  }
  if (code === 'EACCES')
    return kindOf(resolve(cwd, command)) === 'folder'
      ? 'it is a folder; `command:` must name a program'
      : 'this user may not execute it; check its permissions (chmod +x) and those of the folder';
  if (code === 'E2BIG') return 'its arguments and environment are larger than the system allows';
  if (code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM')
    return `the system is out of processes, file descriptors or memory (${code}); raise the limits or stop servers`;
  return undefined;
}

function kindOf(path: string): 'folder' | 'file' | undefined {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch {
    return undefined;
  }
}

function isFolder(path: string): boolean {
  return kindOf(path) === 'folder';
}

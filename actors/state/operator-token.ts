// Operator token: the credential of the operator if `api_key` is not set. It is stored in a file in the state
// folder, readable only by the gateway's user.
//
// - A token that other users could have read or written is replaced: if the file is a link, belongs to
//   others, gives rights to others, or has other content.
// - No child process inherits the token: the file is closed before other code runs, and the token is not in
//   the environment.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inStateFolder } from './folder-access.ts';
import { replaceFile } from './small-file.ts';

export const OPERATOR_TOKEN_FILE = 'operator-token';

/** Prefix by which people and secret scanners recognise a token. */
const PREFIX = 'agop_';
const TOKEN_BYTES = 32;
const tokenPattern = new RegExp(`^${PREFIX}[\\w-]{43}$`);
const RIGHTS_OF_OTHERS = 0o077;

export interface OperatorToken {
  readonly token: string;
  /** Reason why an existing file was replaced. */
  readonly replaced: string | undefined;
}

/** Reads or creates the token in the state folder. Throws StateFolderError. */
export function openOperatorToken(stateDir: string): OperatorToken {
  const path = join(stateDir, OPERATOR_TOKEN_FILE);
  const file = readToken(path);
  if ('token' in file) return { token: file.token, replaced: undefined };
  const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  inStateFolder(stateDir, () => replaceFile(path, `${token}\n`));
  return { token, replaced: file.fault };
}

/** Returns the token in the state folder, if it can be trusted. */
export function findOperatorToken(stateDir: string): string | undefined {
  const file = readToken(join(stateDir, OPERATOR_TOKEN_FILE));
  return 'token' in file ? file.token : undefined;
}

type TokenFile = { readonly token: string } | { readonly fault: string | undefined };

function readToken(path: string): TokenFile {
  let descriptor: number;
  try {
    // O_NONBLOCK: opening a pipe would block.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { fault: undefined };
    return { fault: code === 'ELOOP' ? 'it was a symbolic link' : `it could not be read (${code})` };
  }
  try {
    const stat = fstatSync(descriptor);
    const fault = !stat.isFile() ? 'it was not a regular file' : faultOfRights(stat.uid, stat.mode);
    if (fault !== undefined) return { fault };
    const text = readFileSync(descriptor, 'latin1').trim();
    return tokenPattern.test(text) ? { token: text } : { fault: 'it did not contain a token' };
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the problem with owner or mode; Windows has neither. */
function faultOfRights(uid: number, mode: number): string | undefined {
  if (process.getuid === undefined) return undefined;
  if (uid !== process.getuid()) return 'it belonged to another user';
  return (mode & RIGHTS_OF_OTHERS) === 0 ? undefined : 'other users had access to it';
}

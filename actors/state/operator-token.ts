// The operator token: identifies the operator if the gateway has no `api_key`. It is a file in the state folder, readable by
// the gateway's user only.
//
// - a token that other users could have read, written or chosen is never used: a link, a foreign owner, a mode with
//   rights for others, or other content is replaced with a new token.
// - the file is closed before anything else runs, and the token is no variable: no child process inherits either.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from './small-file.ts';
import { inStateFolder } from './state-folder-access.ts';

export const OPERATOR_TOKEN_FILE = 'operator-token';

/** Recognisable by people and by secret scanners. */
const PREFIX = 'agop_';
const TOKEN_BYTES = 32;
const form = new RegExp(`^${PREFIX}[\\w-]{43}$`);
const RIGHTS_OF_OTHERS = 0o077;

export interface OperatorToken {
  readonly token: string;
  /** Why an existing file was replaced. */
  readonly replaced: string | undefined;
}

/** Reads the token in a state folder, and creates it if missing. Throws StateFolderError. */
export function openOperatorToken(stateDir: string): OperatorToken {
  const path = join(stateDir, OPERATOR_TOKEN_FILE);
  const found = readToken(path);
  if ('token' in found) return { token: found.token, replaced: undefined };
  const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  inStateFolder(stateDir, () => replaceFile(path, `${token}\n`));
  return { token, replaced: found.fault };
}

/** Returns the trusted token in a state folder, if any. */
export function findOperatorToken(stateDir: string): string | undefined {
  const found = readToken(join(stateDir, OPERATOR_TOKEN_FILE));
  return 'token' in found ? found.token : undefined;
}

type Found = { readonly token: string } | { readonly fault: string | undefined };

function readToken(path: string): Found {
  let descriptor: number;
  try {
    // A pipe in the place of the file would block the open.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { fault: undefined };
    return { fault: code === 'ELOOP' ? 'it was a symbolic link' : `it could not be read (${code})` };
  }
  try {
    const stat = fstatSync(descriptor);
    const fault = !stat.isFile() ? 'it was no file' : faultOfRights(stat.uid, stat.mode);
    if (fault !== undefined) return { fault };
    const text = readFileSync(descriptor, 'latin1').trim();
    return form.test(text) ? { token: text } : { fault: 'it did not contain a token' };
  } finally {
    closeSync(descriptor);
  }
}

/** Windows has no such owners or modes. */
function faultOfRights(uid: number, mode: number): string | undefined {
  if (process.getuid === undefined) return undefined;
  if (uid !== process.getuid()) return 'it belonged to another user';
  return (mode & RIGHTS_OF_OTHERS) === 0 ? undefined : 'other users had rights on it';
}

// Turns errors of SQLite and of the file system into the one error that callers of the store know: what is wrong with
// which file, and what to do about it. Any other error is a bug of ours and stays what it is.
//
// SF1  a message names the file and the condition, never anything that was to be written.

import { StoreFullError, StoreUnavailableError } from '../../base/errors/errors.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import { UnusableFileError } from './connection.ts';

/** What the store can do about a condition: `room` means that a smaller call may still succeed. */
export type FaultKind = 'room' | 'file';

export interface Fault {
  readonly kind: FaultKind;
  readonly error: StoreUnavailableError;
}

const DAMAGED =
  'is damaged; keep a copy, and restore a backup or try `sqlite3 FILE .recover` while no gateway runs';

/** Undefined for an error that does not come from the file. */
export function faultOf(cause: unknown, file: string): Fault | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause instanceof UnusableFileError) return { kind: 'file', error: unavailable(file, cause.message) };
  // Of one record only: what does not touch it goes on.
  if (cause instanceof DamagedRecordError)
    return { kind: 'room', error: unavailable(file, `${DAMAGED} (${cause.message})`) };
  const code = codeOf(cause);
  const advice = adviceOn(code);
  if (advice === undefined) return undefined;
  const what = `${advice} (${code})`;
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT')
    return { kind: 'room', error: new StoreFullError(`the store ${file} ${what}`) };
  return { kind: 'file', error: unavailable(file, what) };
}

function unavailable(file: string, what: string): StoreUnavailableError {
  return new StoreUnavailableError(`the store ${file} ${what}`);
}

/** Of an open that failed the driver tells the number in its text only: `…: 14`. */
function codeOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string' && code !== '') return code;
  return /ConnectionFailed\(.*: 14"\)$/.test(error.message) ? 'SQLITE_CANTOPEN' : '';
}

function adviceOn(code: string): string | undefined {
  switch (code) {
    case 'SQLITE_FULL':
    case 'ENOSPC':
    case 'EDQUOT':
      return 'has no room on its disk; free some, it goes on by itself';
    case 'SQLITE_NOTADB':
      return 'is not a database; move it away to begin with an empty one, or restore a copy';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'may not be written; change its rights, or name another folder in state_dir';
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EISDIR':
    case 'SQLITE_CANTOPEN':
      return 'cannot be opened; its folder must be there, and the file be a file';
    default:
  }
  if (code.startsWith('SQLITE_CORRUPT')) return DAMAGED;
  if (code.startsWith('SQLITE_READONLY'))
    return 'cannot be written; its disk or its rights have become read-only';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return 'is held by another process; end that one';
  if (code.startsWith('SQLITE_IOERR') || code === 'EIO')
    return 'met an error of its disk; see the log of the system';
  if (code === 'SQLITE_NOMEM') return 'has no memory left';
  if (code.startsWith('SQLITE_CANTOPEN'))
    return 'cannot be opened; its folder must be there, and the file be a file';
  return undefined;
}

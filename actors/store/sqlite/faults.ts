// Converts errors of SQLite and the file system into store errors with the file, its condition and a remedy.
// Messages never contain data to be written. Other errors are bugs of the gateway and stay unchanged.

import { StoreFullError, StoreRecordError, StoreUnavailableError } from '../../base/errors/errors.ts';
import { DamagedRecordError } from '../damaged-record.ts';
import { UnusableFileError } from './connection.ts';

/** `room`: the disk is full, but a smaller call may still succeed. `file`: all calls fail. */
export type SqliteFaultKind = 'room' | 'file';

export interface SqliteFault {
  readonly kind: SqliteFaultKind;
  readonly error: StoreUnavailableError;
}

const DAMAGED =
  'is damaged; keep a copy, and restore a backup or try `sqlite3 FILE .recover` while no gateway runs';

/** Returns the store error; undefined if the error does not come from the file. */
export function faultOf(cause: unknown, file: string): SqliteFault | undefined {
  if (!(cause instanceof Error)) return undefined;
  if (cause instanceof UnusableFileError) return { kind: 'file', error: unavailable(file, cause.message) };
  if (cause instanceof DamagedRecordError)
    return { kind: 'room', error: new StoreRecordError(`the store ${file} ${DAMAGED} (${cause.message})`) };
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

/** If opening fails, the driver has the code only in its message: `…: 14`. */
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
      return 'has no disk space; free some, it continues by itself';
    case 'SQLITE_NOTADB':
      return 'is not a database; move it away to start with an empty one, or restore a copy';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return 'is not writable; change its permissions, or set another state_dir';
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EISDIR':
    case 'SQLITE_CANTOPEN':
      return 'cannot be opened; its folder must exist, and the path must be a file';
    default:
  }
  if (code.startsWith('SQLITE_CORRUPT')) return DAMAGED;
  if (code.startsWith('SQLITE_READONLY')) return 'is read-only; check its disk and permissions';
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED'))
    return 'is locked by another process; stop that process';
  if (code.startsWith('SQLITE_IOERR') || code === 'EIO') return 'had a disk error; check the system log';
  if (code === 'SQLITE_NOMEM') return 'ran out of memory';
  if (code.startsWith('SQLITE_CANTOPEN'))
    return 'cannot be opened; its folder must exist, and the path must be a file';
  return undefined;
}

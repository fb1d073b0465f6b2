// Copies the file and the write-ahead log of a live store. The gateway changes the file only by moving pages
// of the log into it. All moved pages stay in the log until it starts again with other salts. The copies are
// therefore consistent if the file is copied before the log, and the log did not start again meanwhile.
// SQLite ignores an incomplete transaction at the end of the log.

import { constants } from 'node:fs';
import { copyFile, open, rm, stat } from 'node:fs/promises';
import { setTimeout as elapse } from 'node:timers/promises';
import { TransferRefusedError } from '../export/errors.ts';

/** The header contains the salts. */
const LOG_HEADER_BYTES = 32;
const ATTEMPTS = 20;
const PAUSE_MS = 50;

/**
 * Writes `copy` and its log. Rejects with TransferRefusedError if the log starts again during every attempt,
 * and with errors of the file system.
 */
export async function copyLiveStore(file: string, copy: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const before = await stateOf(file);
    await copyFile(file, copy, constants.COPYFILE_FICLONE);
    await rm(`${copy}-wal`, { force: true });
    await ifPresent(copyFile(`${file}-wal`, `${copy}-wal`, constants.COPYFILE_FICLONE));
    signal.throwIfAborted();
    if (before !== undefined && before === (await stateOf(file))) return;
    await elapse(PAUSE_MS);
  }
  throw new TransferRefusedError(
    `the store ${file} changes too fast to be copied; try again when fewer events arrive`,
  );
}

/**
 * Returns a text that changes when the log starts again, or without a log when the file changes; undefined
 * while an import writes the file.
 */
async function stateOf(file: string): Promise<string | undefined> {
  if ((await ifPresent(stat(`${file}-journal`))) !== undefined) return undefined;
  const log = await ifPresent(open(`${file}-wal`));
  if (log === undefined) return `no log, changed at ${(await stat(file)).mtimeMs}`;
  try {
    const { buffer, bytesRead } = await log.read(Buffer.alloc(LOG_HEADER_BYTES), 0, LOG_HEADER_BYTES, 0);
    return buffer.toString('hex', 0, bytesRead);
  } finally {
    await log.close();
  }
}

async function ifPresent<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

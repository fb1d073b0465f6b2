// Copies the store's file before a migration. SQLite itself copies it: another descriptor of this process
// would release the lock of the open file when it is closed. The next migration replaces the copy.

import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { SqliteConnection } from './connection.ts';

/** Returns the path of the copy, with owner-only permissions. Throws errors of SQLite and the file system. */
export function copyBeforeMigration(connection: SqliteConnection, file: string): string {
  const copy = `${file}.before-migration`;
  const part = `${copy}.part`;
  try {
    rmSync(part, { force: true });
    // SQLite accepts an empty file, and keeps its permissions.
    const descriptor = openSync(part, 'wx', 0o600);
    try {
      connection.exec(`VACUUM INTO '${part.replaceAll("'", "''")}'`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(part, copy);
    syncFolder(dirname(copy));
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  return copy;
}

/** Makes the rename durable, if the file system supports it. */
function syncFolder(folder: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(folder, 'r');
    fsyncSync(descriptor);
  } catch {
    // The copy is complete without it.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

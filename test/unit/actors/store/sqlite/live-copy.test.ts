// Copies of a store in use: repeated if the log starts again meanwhile, because pages may then be in neither
// copy.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TransferRefusedError } from '../../../../../actors/store/export/errors.ts';
import { copyLiveStore } from '../../../../../actors/store/sqlite/live-copy.ts';
import { storeFolder } from '../../../../fixtures/store/engine-store.ts';

const LOG_HEADER_BYTES = 32;

/** Creates a store whose log starts again during the first `restarts` copies. */
function busyStore(restarts: number) {
  const folder = storeFolder();
  const [file, copy] = [join(folder, 'store.sqlite'), join(folder, 'copy.sqlite')];
  let logs = 0;
  const startLog = () => {
    logs += 1;
    writeFileSync(file, `pages before log ${logs}`);
    writeFileSync(`${file}-wal`, Buffer.alloc(LOG_HEADER_BYTES + 8, logs));
  };
  startLog();
  // Called between copy and check.
  const signal = { throwIfAborted: () => logs <= restarts && startLog() } as unknown as AbortSignal;
  const copied = () => [readFileSync(copy, 'utf8'), readFileSync(`${copy}-wal`)[0]];
  return { file, copied, copyNow: () => copyLiveStore(file, copy, signal) };
}

test('the copy of an SQLite file is repeated if its write-ahead log restarts meanwhile', async () => {
  const { copyNow, copied } = busyStore(2);
  await copyNow();
  expect(copied()).toEqual(['pages before log 3', 3]);
});

test('the copy of an SQLite file is refused if its write-ahead log restarts every time, or during an import', async () => {
  await expect(busyStore(Number.POSITIVE_INFINITY).copyNow()).rejects.toThrow(TransferRefusedError);
  const { file, copyNow } = busyStore(0);
  writeFileSync(`${file}-journal`, 'an import');
  await expect(copyNow()).rejects.toThrow('changes too fast to be copied');
});

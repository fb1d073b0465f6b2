// `store backup`: writes a live store to a file, for `store import`.

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { GatewayError } from '../../../actors/base/errors/errors.ts';
import { StoreFileError, TransferRefusedError } from '../../../actors/store/export/errors.ts';
import { exportingCommand, type SourceOptions, useAndClose } from './export.ts';
import { storeFile, TRANSFER_EXIT_CODES, warnOfDamage } from './transfer.ts';

const examples = [
  'actor-gateway store backup --to backup.ndjson',
  'actor-gateway store backup --config gateway.yaml --to - | gzip > backup.ndjson.gz',
];

const help = `
The store is the database of store.postgres, else the file in state_dir. Gateways may use it: the backup has the
state of one instant. A file is copied first, next to the backup, which needs as much space again meanwhile.

The backup is an export: restore it with "store import" into an empty store, and start no gateway on the old
store. A restored store repeats the events that were handled after the backup. It contains messages of users;
only its owner can read the file.

${TRANSFER_EXIT_CODES}`;

export const backupStore = exportingCommand({ examples, help }, async ({ config, to, signal }, move) => {
  const { postgres } = config.store;
  if (postgres !== undefined) {
    const { openPostgresSource } = await import('../../../actors/store/postgres/export-postgres.ts');
    return useAndClose(await openPostgresSource({ ...postgres, isLive: true }), move);
  }
  const file = storeFile(config.state_dir);
  if (!existsSync(file)) throw new TransferRefusedError(`no store at ${file}: nothing to back up`);
  const { copyLiveStore } = await import('../../../actors/store/sqlite/live-copy.ts');
  const { openSqliteSource } = await import('../../../actors/store/sqlite/export-sqlite.ts');
  const folder = await mkdtemp(prefixFor(to)).catch(asStoreError);
  try {
    const copy = join(folder, 'store.sqlite');
    await copyLiveStore(file, copy, signal).catch(asStoreError);
    const source = await openSqliteSource({ file: copy, onDamage: warnOfDamage, isLiveCopy: true });
    return await useAndClose(source, move);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

function prefixFor(to: SourceOptions['to']): string {
  if (to === '-') return join(tmpdir(), 'actor-gateway-backup-');
  const path = resolve(to);
  return join(dirname(path), `.${basename(path)}-`);
}

function asStoreError(error: NodeJS.ErrnoException): never {
  if (error instanceof GatewayError || error.code === undefined) throw error;
  throw new StoreFileError(`could not copy the store: ${error.message}`);
}

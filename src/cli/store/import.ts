// `store import`: fills an empty store from a file that `store export` has written.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { StoreFileError } from '../../../actors/store/export/errors.ts';
import { type ImportTarget, importRows } from '../../../actors/store/export/transfer.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import type { CommandModule } from '../command.ts';
import { DEFAULT_CONFIG } from '../options.ts';
import { print, printJson } from '../views/output.ts';
import {
  reportMigration,
  runTransfer,
  storeFile,
  storeName,
  TRANSFER_EXIT_CODES,
  warnOfDamage,
  withStateLock,
} from './transfer.ts';
import { countsText, ProgressReporter } from './transfer-progress.ts';

interface Options {
  readonly config: string;
  readonly from: string;
  readonly json?: boolean;
}

const PART_BYTES = 256 * 1024;

const after = `
The store is the database of store.postgres, else the file in state_dir. It must be empty, and no gateway may
use it. The file is imported completely or not at all: a truncated or modified file is refused, and the store
stays empty. The next start continues as after a crash of the old gateway.

${TRANSFER_EXIT_CODES}`;

export const importStore: CommandModule = {
  examples: [
    'actor-gateway store import --config gateway.postgres.yaml --from store.ndjson',
    'gunzip < store.ndjson.gz | actor-gateway store import --from -',
  ],
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML)', DEFAULT_CONFIG)
      .requiredOption('--from <file>', 'file written by store export; - is stdin')
      .option('--json', 'print a summary as JSON')
      .addHelpText('after', after),
  run: (command) => {
    const options = command.opts<Options>();
    return runTransfer(options.config, (config, signal) => runImport(config, options, signal));
  },
};

async function runImport(config: GatewayConfig, { from, json }: Options, signal: AbortSignal): Promise<void> {
  const total = from === '-' ? undefined : await sizeOf(from);
  const progress = new ProgressReporter();
  const onProgress = (each: Parameters<ProgressReporter['show']>[0]) => progress.show(each);
  // The state folder is locked also for a database: a running gateway there may still use the old store.
  const { counts, sha256, head } = await withStateLock(config.state_dir, async () => {
    const target = await openTarget(config);
    try {
      return await importRows(target, partsOf(from, signal), total, { onProgress, signal });
    } finally {
      await target.close();
    }
  }).finally(() => progress.close());
  if (json === true)
    await printJson(
      JSON.stringify({ ok: true, file: from, counts, sha256, made_by: head.madeBy, at: head.at }),
    );
  else
    await print(
      `${storeName(config)} contains all of ${from === '-' ? 'stdin' : from}: ${countsText(counts)}\n`,
    );
}

async function openTarget(config: GatewayConfig): Promise<ImportTarget> {
  const { postgres } = config.store;
  if (postgres !== undefined) {
    const { openPostgresTarget } = await import('../../../actors/store/postgres/export-postgres.ts');
    return openPostgresTarget({ ...postgres, onMigrated: reportMigration });
  }
  const { openSqliteTarget } = await import('../../../actors/store/sqlite/export-sqlite.ts');
  return openSqliteTarget({
    file: storeFile(config.state_dir),
    onDamage: warnOfDamage,
    onMigrated: reportMigration,
  });
}

async function sizeOf(path: string): Promise<number> {
  const stats = await stat(path).catch((error: unknown) => unreadable(path, error));
  if (stats.isDirectory()) throw new StoreFileError(`${path} is a folder`);
  return stats.size;
}

/** Reads the file in parts. Rejects with StoreFileError, or with the reason of the signal. */
async function* partsOf(from: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stream = from === '-' ? process.stdin : createReadStream(from, { highWaterMark: PART_BYTES });
  try {
    // The signal also aborts reading from a pipe that has no writer.
    yield* addAbortSignal(signal, stream);
  } catch (error) {
    signal.throwIfAborted();
    unreadable(from, error);
  }
}

function unreadable(path: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  throw new StoreFileError(`${path} cannot be read (${code})`);
}

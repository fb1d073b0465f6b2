// `store import`: fills an empty store with what an export has written.

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { StoreFileError } from '../../../actors/store/moved/move-errors.ts';
import { importRows, type MoveTarget } from '../../../actors/store/moved/moved-store.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import type { CommandModule } from '../command.ts';
import { USUAL_CONFIG } from '../options.ts';
import { print, printJson } from '../views/output.ts';
import { countsInWords, MoveProgress } from './move-progress.ts';
import { inStateFolder, MOVE_EXIT_CODES, moving, onDamage, placeOf, storeFile } from './moving.ts';

interface Options {
  readonly config: string;
  readonly from: string;
  readonly json?: boolean;
}

const PART_BYTES = 256 * 1024;

const after = `
Which store it is the configuration says: the database of store.postgres, else the file in state_dir. It must be empty, and no gateway
may run on it. The file is taken as a whole or not at all: one that was cut or changed is refused, and then the store is as empty as
it was. The next start goes on with what is there as after kill -9 of the gateway before.

Examples:
  actor-gateway store import --config gateway.postgres.yaml --from store.ndjson
  gunzip < store.ndjson.gz | actor-gateway store import --from -

${MOVE_EXIT_CODES}`;

export const importStore: CommandModule = {
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML)', USUAL_CONFIG)
      .requiredOption('--from <file>', 'what store export has written; - is stdin')
      .option('--json', 'print what was taken as JSON')
      .addHelpText('after', after),
  run: (command) => {
    const options = command.opts<Options>();
    return moving(options.config, (config, signal) => imported(config, options, signal));
  },
};

async function imported(config: GatewayConfig, { from, json }: Options, signal: AbortSignal): Promise<void> {
  const total = from === '-' ? undefined : await sizeOf(from);
  const progress = new MoveProgress();
  const onProgress = (each: Parameters<MoveProgress['show']>[0]) => progress.show(each);
  // Also where the store is a database: a gateway that runs here would go on with the old one.
  const { counts, sha256, head } = await inStateFolder(config.state_dir, async () => {
    const target = await openTarget(config);
    try {
      return await importRows(target, partsOf(from, signal), total, { onProgress, signal });
    } finally {
      await target.close();
    }
  }).finally(() => progress.end());
  if (json === true)
    await printJson(
      JSON.stringify({ ok: true, file: from, counts, sha256, made_by: head.madeBy, at: head.at }),
    );
  else
    await print(`${placeOf(config)} has all of ${from === '-' ? 'stdin' : from}: ${countsInWords(counts)}\n`);
}

async function openTarget(config: GatewayConfig): Promise<MoveTarget> {
  const { postgres } = config.store;
  if (postgres !== undefined) {
    const { openPostgresTarget } = await import('../../../actors/store/postgres/moved-postgres.ts');
    return openPostgresTarget(postgres);
  }
  const { openSqliteTarget } = await import('../../../actors/store/sqlite/moved-sqlite.ts');
  return openSqliteTarget({ file: storeFile(config.state_dir), onDamage });
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch((error: unknown) => unreadable(path, error));
  if (found.isDirectory()) throw new StoreFileError(`${path} is a folder`);
  return found.size;
}

/** Rejects with StoreFileError, and with the reason of the signal. */
async function* partsOf(from: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const stream = from === '-' ? process.stdin : createReadStream(from, { highWaterMark: PART_BYTES });
  try {
    // It may have to wait for whoever writes it.
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

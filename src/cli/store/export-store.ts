// `store export`: writes everything of a store into a file. The store stays as it is.

import { existsSync } from 'node:fs';
import { MoveRefusedError } from '../../../actors/store/moved/move-errors.ts';
import { exportRows, type MoveSource } from '../../../actors/store/moved/moved-store.ts';
import type { Moved } from '../../../actors/store/moved/record-file.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import { version } from '../../version.ts';
import { UsageError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { USUAL_CONFIG } from '../options.ts';
import { complain, print, printJson } from '../views/output.ts';
import { refuseExisting, toStdout, writeExport } from './export-file.ts';
import { countsInWords, MoveProgress } from './move-progress.ts';
import { inStateFolder, MOVE_EXIT_CODES, moving, onDamage, placeOf, storeFile } from './moving.ts';

interface Options {
  readonly config: string;
  readonly to: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const after = `
Which store it is the configuration says: the database of store.postgres, else the file in state_dir. No gateway may run on it. What it
holds stays there, so let only one of the two go on: where both were started, what waits would be done twice.

Events that wait or are held, runs with their journals, approvals, conversations, timers, what is known by its id and what is paused
come along. Pauses stand in the file as what remains of them. The file holds what people wrote; only its owner may read it.

Examples:
  actor-gateway store export --to store.ndjson
  actor-gateway store export --config gateway.yaml --to - | gzip > store.ndjson.gz

${MOVE_EXIT_CODES}`;

export const exportStore: CommandModule = {
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML)', USUAL_CONFIG)
      .requiredOption('--to <file>', 'where to write; - is stdout')
      .option('--force', 'replace the file that is there')
      .option('--json', 'print what was written as JSON')
      .addHelpText('after', after),
  run: (command) => {
    const options = command.opts<Options>();
    if (options.to === '-' && options.json === true)
      throw new UsageError('--json prints on stdout, where --to - writes the store');
    return moving(options.config, (config, signal) => exported(config, options, signal));
  },
};

async function exported(
  config: GatewayConfig,
  { to, force = false, json }: Options,
  signal: AbortSignal,
): Promise<void> {
  if (to !== '-') await refuseExisting(to, force);
  const progress = new MoveProgress();
  const about = { madeBy: `actor-gateway ${version}`, at: new Date().toISOString() };
  const moved = await withSource(config, (source) => {
    const fill = (write: (part: string) => Promise<void>) =>
      exportRows(source, about, write, { onProgress: (each) => progress.show(each), signal });
    return to === '-' ? fill(toStdout) : writeExport(to, force, fill);
  }).finally(() => progress.end());
  const { counts, sha256 } = moved;
  if (json === true) await printJson(JSON.stringify({ ok: true, file: to, counts, sha256 }));
  else if (to === '-') complain(inWords(config, 'stdout', moved));
  else await print(`${inWords(config, to, moved)}\n`);
}

const inWords = (config: GatewayConfig, to: string, { counts }: Moved) =>
  `${to} has all of ${placeOf(config)}: ${countsInWords(counts)}`;

async function withSource<T>(config: GatewayConfig, move: (source: MoveSource) => Promise<T>): Promise<T> {
  const { postgres } = config.store;
  if (postgres !== undefined) {
    const { openPostgresSource } = await import('../../../actors/store/postgres/moved-postgres.ts');
    return closing(await openPostgresSource(postgres), move);
  }
  const file = storeFile(config.state_dir);
  // A folder for the lock is not made for nothing.
  if (!existsSync(file)) throw new MoveRefusedError(`there is no store ${file}: nothing can be exported`);
  return inStateFolder(config.state_dir, async () => {
    const { openSqliteSource } = await import('../../../actors/store/sqlite/moved-sqlite.ts');
    return closing(await openSqliteSource({ file, onDamage }), move);
  });
}

async function closing<T>(source: MoveSource, move: (source: MoveSource) => Promise<T>): Promise<T> {
  try {
    return await move(source);
  } finally {
    await source.close();
  }
}

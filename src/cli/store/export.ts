// `store export`: writes the whole store to a file, for `store import`. The store is unchanged.

import { existsSync } from 'node:fs';
import { TransferRefusedError } from '../../../actors/store/export/errors.ts';
import type { ExportSummary } from '../../../actors/store/export/file-format.ts';
import { type ExportSource, exportRows } from '../../../actors/store/export/transfer.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import { version } from '../../version.ts';
import { CommandLineError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { DEFAULT_CONFIG } from '../options.ts';
import { print, printJson, printMessage } from '../views/output.ts';
import { refuseExisting, toStdout, writeExport } from './export-file.ts';
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
  readonly to: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const examples = [
  'actor-gateway store export --to store.ndjson',
  'actor-gateway store export --config gateway.yaml --to - | gzip > store.ndjson.gz',
];

const help = `
The store is the database of store.postgres, else the file in state_dir. No gateway may use it during the
export. The store keeps its content. Afterwards start a gateway only on one of the two stores: otherwise waiting
events are handled twice.

The export contains waiting and held events, runs with their journals, approvals, conversations, timers, event
ids and pauses with their remaining time. It contains messages of users; only its owner can read the file.

${TRANSFER_EXIT_CODES}`;

export interface SourceOptions {
  readonly config: GatewayConfig;
  /** Path of the output, or `-`. */
  readonly to: string;
  readonly signal: AbortSignal;
}

/** Opens the store, calls `move`, and closes the store. */
type WithSource = <T>(options: SourceOptions, move: (source: ExportSource) => Promise<T>) => Promise<T>;

/** Returns a command that writes a store to a file. */
export function exportingCommand(
  { examples, help }: { readonly examples: readonly string[]; readonly help: string },
  withSource: WithSource,
): CommandModule {
  return {
    examples,
    declare: (command) =>
      command
        .option('-c, --config <file>', 'gateway configuration (YAML)', DEFAULT_CONFIG)
        .requiredOption('--to <file>', 'output file; - is stdout')
        .option('--force', 'replace an existing file')
        .option('--json', 'print a summary as JSON')
        .addHelpText('after', help),
    run: (command) => {
      const options = command.opts<Options>();
      if (options.to === '-' && options.json === true)
        throw new CommandLineError('--json and --to - both write to stdout; use a file or drop --json');
      return runTransfer(options.config, (config, signal) => runExport(config, options, signal, withSource));
    },
  };
}

async function runExport(
  config: GatewayConfig,
  { to, force = false, json }: Options,
  signal: AbortSignal,
  withSource: WithSource,
): Promise<void> {
  if (to !== '-') await refuseExisting(to, force);
  const progress = new ProgressReporter();
  const head = { madeBy: `actor-gateway ${version}`, at: new Date().toISOString() };
  const summary = await withSource({ config, to, signal }, (source) => {
    const fill = (write: (part: string) => Promise<void>) =>
      exportRows(source, head, write, { onProgress: (each) => progress.show(each), signal });
    return to === '-' ? fill(toStdout) : writeExport(to, force, fill);
  }).finally(() => progress.close());
  const { counts, sha256 } = summary;
  if (json === true) await printJson(JSON.stringify({ ok: true, file: to, counts, sha256 }));
  else if (to === '-') printMessage(summaryText(config, 'stdout', summary));
  else await print(`${summaryText(config, to, summary)}\n`);
}

const summaryText = (config: GatewayConfig, to: string, { counts }: ExportSummary) =>
  `${to} contains all of ${storeName(config)}: ${countsText(counts)}`;

export const exportStore = exportingCommand({ examples, help }, async ({ config }, move) => {
  const { postgres } = config.store;
  if (postgres !== undefined) {
    const { openPostgresSource } = await import('../../../actors/store/postgres/export-postgres.ts');
    return useAndClose(await openPostgresSource({ ...postgres, onMigrated: reportMigration }), move);
  }
  const file = storeFile(config.state_dir);
  // Without this check, the lock would create the folder.
  if (!existsSync(file)) throw new TransferRefusedError(`no store at ${file}: nothing to export`);
  return withStateLock(config.state_dir, async () => {
    const { openSqliteSource } = await import('../../../actors/store/sqlite/export-sqlite.ts');
    return useAndClose(
      await openSqliteSource({ file, onDamage: warnOfDamage, onMigrated: reportMigration }),
      move,
    );
  });
});

export async function useAndClose<T>(
  source: ExportSource,
  move: (source: ExportSource) => Promise<T>,
): Promise<T> {
  try {
    return await move(source);
  } finally {
    await source.close();
  }
}

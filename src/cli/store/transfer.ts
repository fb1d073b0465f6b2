// Common code of `store export` and `store import`: locates the configured store, locks the state folder,
// handles signals and errors. An interrupted or failed transfer prints one line without secrets, and changes
// no store.

import { join } from 'node:path';
import { GatewayError } from '../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { acquireStateLock } from '../../../actors/state/lock.ts';
import { TransferRefusedError } from '../../../actors/store/export/errors.ts';
import type { SchemaMigration as TableMigration } from '../../../actors/store/postgres/migration.ts';
import type { Migration } from '../../../actors/store/sqlite/schema.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { ConfigError } from '../../../config/reader/problem.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/client.ts';
import { printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';

export const TRANSFER_EXIT_CODES =
  'Exit codes: 0 success, 1 refused or failed without any transfer, 2 invalid configuration or usage';

/** Returns a name of the store for messages. Does not contain the database's address. */
export function storeName({ state_dir, store }: GatewayConfig): string {
  return store.postgres === undefined ? storeFile(state_dir) : 'the database of store.postgres';
}

/** Must be the same path as in actors/store/open-store.ts. */
export const storeFile = (stateDir: string) => join(stateDir, 'store.sqlite');

/** Prints a warning about damaged rows. The transfer continues without them. */
export const warnOfDamage = (what: string) => printMessage(printable(`warning: ${what}`));

/** Prints a message about a store that an earlier version wrote. */
export function reportMigration({ from, to, copy }: Migration | TableMigration): void {
  const rest =
    typeof copy !== 'string' && 'reason' in copy
      ? `no copy of the earlier version: ${copy.reason}`
      : `the earlier version is in ${typeof copy === 'string' ? copy : `the schema ${copy.schema}`}`;
  printMessage(printable(`store migrated from schema ${from} to ${to}; ${rest}`));
}

/** Loads the configuration, runs a transfer and returns the exit code. */
export async function runTransfer(
  file: string,
  move: (config: GatewayConfig, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  let redactor = new Redactor([]);
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    // A second signal exits immediately. The store rolls uncommitted changes back.
    if (interrupted.signal.aborted) process.exit(1);
    interrupted.abort(new TransferRefusedError(`interrupted by ${signal}; nothing was transferred`));
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const { config, secrets } = await loadConfig(file, process.env);
    redactor = new Redactor(secrets);
    await move(config, interrupted.signal);
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) {
      printProblems(error.problems);
      return 2;
    }
    if (!(error instanceof GatewayError || error instanceof ApiProblem)) throw error;
    printMessage(printable(redactor.redact(error.message)));
    return 1;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}

/**
 * Calls `action` while the state folder is locked, so that no gateway can start there. Rejects with
 * AlreadyInUseError if a gateway is running.
 */
export async function withStateLock<T>(stateDir: string, action: () => Promise<T>): Promise<T> {
  const lock = await acquireStateLock(stateDir, { listenAddr: 'none: its store is being transferred' });
  try {
    return await action();
  } finally {
    await lock.release();
  }
}

// What export and import have in common: which store the configuration names, with nobody else at work in its state folder, and how a
// move ends.
//
// MVC1  one that is interrupted or fails says so in one line, which has no secret in it, and has moved nothing.

import { join } from 'node:path';
import { GatewayError } from '../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { acquireStateLock } from '../../../actors/state/state-lock.ts';
import { MoveRefusedError } from '../../../actors/store/moved/move-errors.ts';
import type { GatewayConfig } from '../../../config/gateway-file/gateway-schema.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { ConfigError } from '../../../config/reader/problem.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/api-client.ts';
import { complain } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';

export const MOVE_EXIT_CODES =
  'Exit codes: 0 done, 1 refused or failed, and nothing was moved, 2 bad configuration or wrong usage';

/** As it is named to people, without its address. */
export function placeOf({ state_dir, store }: GatewayConfig): string {
  return store.postgres === undefined ? storeFile(state_dir) : 'the database of store.postgres';
}

/** As openStore has it. */
export const storeFile = (stateDir: string) => join(stateDir, 'store.sqlite');

/** Hears in words what is damaged in the store: it is moved all the same. */
export const onDamage = (what: string) => complain(printable(`warning: ${what}`));

/** Runs the move with the configuration of that file, and gives the exit code. */
export async function moving(
  file: string,
  move: (config: GatewayConfig, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  let redactor = new Redactor([]);
  const interrupted = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => {
    // Where something hangs: what was not committed is undone by whoever has it.
    if (interrupted.signal.aborted) process.exit(1);
    interrupted.abort(new MoveRefusedError(`ended by ${signal}; nothing was moved`));
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
    complain(printable(redactor.redact(error.message)));
    return 1;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}

/** Runs the action while no gateway can begin in the state folder. Rejects with AlreadyHeldError where one runs. */
export async function inStateFolder<T>(stateDir: string, action: () => Promise<T>): Promise<T> {
  const lock = await acquireStateLock(stateDir, { listenAddr: 'nothing: its store is being moved' });
  try {
    return await action();
  } finally {
    await lock.release();
  }
}

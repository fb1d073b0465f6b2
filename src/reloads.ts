// Serves POST /admin/reload, SIGHUP and the inspector's command: reads the catalog and the triggers again, and applies what
// differs.
//
// RL1  reloads follow each other, one waiting at most (TU1–TU3): what is in use in the end is what was on the disk last.
// RL2  both halves are read and checked before either is applied, and the values that were read are committed after both.
//      With an error in one half nothing changes, and the answer has the problems of both.
// RL3  an answer is what came of a reload that began after it was asked for; it says so of each half.

import type { TriggerDifference } from '../actors/automation/triggers/trigger-registry.ts';
import { DeadlineError, InternalError, StoppedError } from '../actors/base/errors/errors.ts';
import type { Log } from '../actors/base/errors/log.ts';
import { CoalescedRuns } from '../actors/base/time/coalesced-runs.ts';
import type { CatalogDifference } from '../actors/mcp/servers/catalog-servers.ts';
import type { Loaded } from '../config/load-config.ts';
import { ConfigError, type Problem } from '../config/reader/problem.ts';
import type { ConfigurationFiles } from './configuration-files.ts';

/** What a reload has changed. */
export interface Reloaded extends CatalogDifference {
  /** Where the gateway has triggers. */
  readonly triggers?: TriggerDifference;
}

export interface TriggerHalf {
  /** Reads the files, and applies nothing. */
  problems(): Promise<readonly Problem[]>;
  /**
   * Reads the files with the catalog and variables of `next`, applies what differs, and returns the result of `applyRest`.
   * Throws ConfigError, and then nothing was applied.
   */
  reload<T>(next: Loaded, applyRest: (triggers: TriggerDifference) => Promise<T>): Promise<T>;
}

export interface ReloadsOptions {
  readonly files: Pick<ConfigurationFiles, 'read' | 'commit'>;
  applyCatalog(loaded: Loaded): Promise<CatalogDifference>;
  /** Undefined where there are none. */
  readonly triggers: TriggerHalf | undefined;
  readonly isStopping: () => boolean;
  readonly log: Log;
  /** How long one who asks is kept waiting. */
  readonly patienceMs?: number;
}

/** Reading takes milliseconds, unless the disk hangs. */
const PATIENCE_MS = 60_000;

export class Reloads {
  readonly #options: ReloadsOptions;
  readonly #turns: CoalescedRuns<Reloaded>;

  constructor(options: ReloadsOptions) {
    this.#options = options;
    this.#turns = new CoalescedRuns(() => this.#reload());
  }

  /**
   * Rejects with ConfigError when the files have errors, and with StoppedError when the gateway is stopping: nothing was
   * changed. With DeadlineError when it takes too long, and it may still come; with InternalError after a fault, of which
   * the message says what it left behind.
   */
  async ask(): Promise<Reloaded> {
    const { patienceMs = PATIENCE_MS, log } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        log.error({ after_ms: patienceMs }, 'a reload has not ended in time; it goes on');
        reject(
          new DeadlineError(
            `the reload has not ended after ${patienceMs / 1000} s; it goes on, and the log says what becomes of it`,
          ),
        );
      }, patienceMs);
    });
    try {
      return await Promise.race([this.#turns.run(), overdue]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #reload(): Promise<Reloaded> {
    const { files, applyCatalog, triggers, isStopping, log } = this.#options;
    let soFar = 'nothing was changed';
    try {
      const next = await this.#read();
      if (isStopping()) throw new StoppedError('the gateway is stopping; nothing was reloaded');
      soFar = 'the catalog is as it was';
      const applyRest = async (difference?: TriggerDifference): Promise<Reloaded> => {
        soFar = `${difference === undefined ? '' : 'the triggers were reloaded, '}the catalog perhaps in part`;
        const servers = await applyCatalog(next);
        files.commit(next);
        return difference === undefined ? servers : { ...servers, triggers: difference };
      };
      // First the half that may still refuse.
      return await (triggers === undefined ? applyRest() : triggers.reload(next, applyRest));
    } catch (error) {
      if (error instanceof StoppedError) throw error;
      if (error instanceof ConfigError) {
        log.error({ problems: error.lines }, 'reload failed; nothing was changed');
        throw error;
      }
      log.error(
        { so_far: soFar, reason: String((error as Error)?.stack ?? error) },
        'a reload broke off by a fault',
      );
      throw new InternalError(`the reload broke off by a fault: ${soFar}; the log has the details`, {
        cause: error,
      });
    }
  }

  /** The catalog. Throws ConfigError with what is wrong with it and, then, with the triggers. */
  async #read(): Promise<Loaded> {
    const { files, triggers } = this.#options;
    try {
      return await files.read();
    } catch (error) {
      if (!(error instanceof ConfigError) || triggers === undefined) throw error;
      throw new ConfigError([...error.problems, ...(await triggers.problems())]);
    }
  }
}

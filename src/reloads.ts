// What an operator asks for by POST /admin/reload, by SIGHUP or on the inspector's page: the catalog and the triggers are
// read again, and what differs is applied.
//
// RL1  reloads follow each other, one waiting at most (TU1–TU3): what is in use in the end is what was on the disk last.
// RL2  both halves have been read and checked before either is applied. With an error in one both stay as they were, and
//      the problems of both are told at once.
// RL3  an answer is what came of a reload that began after it was asked for; it says so of each half.

import type { TriggerDifference } from '../actors/automation/triggers/trigger-registry.ts';
import { DeadlineError, InternalError, StoppedError } from '../actors/base/errors/errors.ts';
import type { Log } from '../actors/base/errors/log.ts';
import { CoalescedRuns } from '../actors/base/time/coalesced-runs.ts';
import type { CatalogDifference } from '../actors/mcp/servers/server-registry.ts';
import type { Loaded } from '../config/load-config.ts';
import { ConfigError, type Problem } from '../config/reader/problem.ts';

/** What a reload has changed. */
export interface Reloaded extends CatalogDifference {
  /** Where the gateway has triggers. */
  readonly triggers?: TriggerDifference;
}

export interface CatalogHalf {
  /** Reads the files, and applies nothing. Throws ConfigError. */
  read(): Promise<Loaded>;
  apply(loaded: Loaded): Promise<CatalogDifference>;
}

export interface TriggerHalf {
  /** Reads the files, and applies nothing. */
  problems(): Promise<readonly Problem[]>;
  /** Reads the files and applies what differs. Throws ConfigError, and then nothing was applied. */
  reload(): Promise<TriggerDifference>;
}

export interface ReloadsOptions {
  readonly catalog: CatalogHalf;
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
    const { catalog, triggers, isStopping, log } = this.#options;
    let soFar = 'nothing was changed';
    try {
      const next = await this.#read();
      if (isStopping()) throw new StoppedError('the gateway is stopping; nothing was reloaded');
      soFar = 'the catalog is as it was';
      // First the half that may still refuse: its files may have changed since the catalog was read.
      const difference = await triggers?.reload();
      soFar = `${difference === undefined ? '' : 'the triggers were reloaded, '}the catalog perhaps in part`;
      const servers = await catalog.apply(next);
      return difference === undefined ? servers : { ...servers, triggers: difference };
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
    const { catalog, triggers } = this.#options;
    try {
      return await catalog.read();
    } catch (error) {
      if (!(error instanceof ConfigError) || triggers === undefined) throw error;
      throw new ConfigError([...error.problems, ...(await triggers.problems())]);
    }
  }
}

// Serves POST /admin/reload, SIGHUP and the inspector's command: reads the catalog (the tool servers) and the
// triggers again, and applies the differences.
//
// - Reloads run one after another, with up to one queued (TU1–TU3, coalesced-runs.ts). A caller gets the
//   result from a reload that started after the request.
// - Catalog and triggers are both read and checked before either is applied. If one has errors, both stay
//   unchanged, and the error lists the problems of both.
// - The new values are committed when both are applied.

import type { TriggerDifference } from '../actors/automation/triggers/registry.ts';
import { DeadlineError, InternalError, StoppedError } from '../actors/base/errors/errors.ts';
import type { Log } from '../actors/base/errors/log.ts';
import { CoalescedRuns } from '../actors/base/time/coalesced-runs.ts';
import { within } from '../actors/base/time/within.ts';
import type { CatalogDifference, CatalogProgress } from '../actors/mcp/servers/catalog-servers.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import { ConfigError, type Problem } from '../config/reader/problem.ts';
import type { ConfigurationFiles } from './configuration-files.ts';

/** Changes of a reload: added, changed and removed servers, and likewise for triggers. */
export interface ReloadDifference extends CatalogDifference {
  /** Absent without triggers. */
  readonly triggers?: TriggerDifference;
}

export interface TriggerReload {
  /** Reads the files and returns their problems, without applying anything. */
  problems(): Promise<readonly Problem[]>;
  /**
   * Reads the files with the catalog and variables of `next`, applies the differences, and returns the result
   * of `applyRest`. Throws ConfigError without applying anything.
   */
  reload<T>(next: LoadedConfig, applyRest: (triggers: TriggerDifference) => Promise<T>): Promise<T>;
}

export interface ReloadsOptions {
  readonly files: Pick<ConfigurationFiles, 'read' | 'commit'>;
  applyCatalog(loaded: LoadedConfig): Promise<CatalogDifference>;
  /** Undefined while no catalog is applied. */
  progress?(): CatalogProgress | undefined;
  /** Undefined without triggers. */
  readonly triggers: TriggerReload | undefined;
  readonly isStopping: () => boolean;
  /** Called with the problems of refused files, or with none after a reload. */
  readonly onProblems: (problems: readonly Problem[]) => void;
  readonly log: Log;
  /** Time after which `request` rejects. */
  readonly timeoutMs?: number;
}

/** Normally a reload takes milliseconds; a hanging disk can block it. */
const TIMEOUT_MS = 60_000;

export class Reloads {
  readonly #options: ReloadsOptions;
  readonly #runs: CoalescedRuns<ReloadDifference>;

  constructor(options: ReloadsOptions) {
    this.#options = options;
    this.#runs = new CoalescedRuns(() => this.#reload());
  }

  /**
   * Reloads and returns the changes. Rejects with
   * - ConfigError if the files have errors, without any change;
   * - StoppedError if the gateway is stopping, without any change;
   * - DeadlineError after a timeout; the reload continues;
   * - InternalError for internal errors. The message contains the changes so far.
   */
  request(): Promise<ReloadDifference> {
    const { timeoutMs = TIMEOUT_MS, log, progress } = this.#options;
    return within(timeoutMs, this.#runs.run(), () => {
      const { applied, total } = progress?.() ?? {};
      log.error({ after_ms: timeoutMs, applied, total }, 'a reload timed out; it continues');
      const state = total === undefined ? '' : ` with ${applied} of ${total} servers applied`;
      throw new DeadlineError(
        `the reload did not end within ${timeoutMs / 1000} s; it continues${state}, and its result will be in the log`,
      );
    });
  }

  async #reload(): Promise<ReloadDifference> {
    const { files, applyCatalog, triggers, isStopping, onProblems, log } = this.#options;
    let progress = 'nothing was changed';
    try {
      const next = await this.#read();
      if (isStopping()) throw new StoppedError('the gateway is stopping; nothing was reloaded');
      progress = 'the catalog is unchanged';
      const applyRest = async (difference?: TriggerDifference): Promise<ReloadDifference> => {
        progress = `${difference === undefined ? '' : 'the triggers were reloaded, '}the catalog possibly in part`;
        const servers = await applyCatalog(next);
        files.commit(next);
        onProblems([]);
        return difference === undefined ? servers : { ...servers, triggers: difference };
      };
      // The triggers come first, because they may still be refused.
      return await (triggers === undefined ? applyRest() : triggers.reload(next, applyRest));
    } catch (error) {
      if (error instanceof StoppedError) throw error;
      if (error instanceof ConfigError) {
        log.error({ problems: error.lines }, 'reload failed; nothing was changed');
        onProblems(error.problems);
        throw error;
      }
      log.error(
        { so_far: progress, reason: String((error as Error)?.stack ?? error) },
        'internal error in a reload',
      );
      throw new InternalError(`internal error in the reload: ${progress}; see the log`, {
        cause: error,
      });
    }
  }

  /** Reads the catalog. Throws ConfigError with the problems of both the catalog and the triggers. */
  async #read(): Promise<LoadedConfig> {
    const { files, triggers } = this.#options;
    try {
      return await files.read();
    } catch (error) {
      if (!(error instanceof ConfigError) || triggers === undefined) throw error;
      throw new ConfigError([...error.problems, ...(await triggers.problems())]);
    }
  }
}

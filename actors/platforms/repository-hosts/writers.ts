// Checks the write access of comment authors at the host, before a trigger accepts their commands. Results
// are cached per token.
//
// - If a check fails, no trigger accepts the event, and the event is retried. After final failures it is
//   accepted only if another host grants access.
// - All tokens for a host get the same result. The tokens of triggers with the command are tried in turn,
//   until one may read permissions.
// - A result is cached for up to a minute. A denial expires earlier, so that new permissions apply quickly.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { factsOf } from './event.ts';
import { mayWriteAt } from './filter.ts';
import type { RepoApi, RepoSender, RepoTrigger } from './host.ts';

/** Cache lifetimes of granted and denied access. */
const GRANTED_MS = 60_000;
const DENIED_MS = 5_000;
/** Maximum number of cached results per token. */
const MAX_CACHED = 10_000;
/** Timeout of the whole check, with all requests. */
const CHECK_MS = 20_000;

export interface RepoWritersTimes {
  readonly grantedMs?: number;
  readonly deniedMs?: number;
  readonly checkMs?: number;
}

interface CachedAccess {
  readonly answer: Promise<boolean>;
  /** Expiry, by `performance.now`. */
  until: number;
}

export class RepoWriters {
  /** Results per token, by repository and user. */
  readonly #cache = new WeakMap<RepoApi, Map<string, CachedAccess>>();
  readonly #times: Required<RepoWritersTimes>;

  constructor({ grantedMs = GRANTED_MS, deniedMs = DENIED_MS, checkMs = CHECK_MS }: RepoWritersTimes = {}) {
    this.#times = { grantedMs, deniedMs, checkMs };
  }

  /**
   * Adds the checks that these triggers need for their command. Returns undefined if no check can be made.
   * Rejects with a DeliveryError.
   */
  complete<T extends RepoTrigger>(
    event: InboundEvent,
    triggers: readonly T[],
    apiOf: (trigger: T) => RepoApi | undefined,
  ): Promise<InboundEvent> | undefined {
    const { repository, sender: name, senderId: id } = factsOf(event);
    if (name === undefined || id === undefined) return undefined;
    const apisByCheck = new Map<string, Set<RepoApi>>();
    for (const trigger of triggers) {
      const api = apiOf(trigger);
      const check = mayWriteAt(trigger);
      if (api !== undefined) apisByCheck.set(check, (apisByCheck.get(check) ?? new Set()).add(api));
    }
    if (apisByCheck.size === 0) return undefined;
    const check = (apis: ReadonlySet<RepoApi>) => this.#firstOf([...apis], repository, { name, id });
    return collectChecks(apisByCheck, check).then((checks) => ({
      ...event,
      checks: { ...event.checks, ...checks },
    }));
  }

  /** Returns the result of the first token that may read permissions. Rejects if none may. */
  async #firstOf(apis: readonly RepoApi[], repository: string, sender: RepoSender): Promise<boolean> {
    let refusal: unknown;
    for (const api of apis)
      try {
        return await this.#mayWrite(api, repository, sender);
      } catch (error) {
        if (!isFinal(error)) throw error;
        refusal ??= error;
      }
    throw refusal;
  }

  /** Checks a user with one token. Concurrent checks of the same user share one request. */
  #mayWrite(api: RepoApi, repository: string, sender: RepoSender): Promise<boolean> {
    const { grantedMs, deniedMs, checkMs } = this.#times;
    const ofToken = this.#cache.get(api) ?? new Map<string, CachedAccess>();
    this.#cache.set(api, ofToken);
    const key = JSON.stringify([repository.toLowerCase(), sender.id]);
    const cached = ofToken.get(key);
    if (cached !== undefined && performance.now() < cached.until) return cached.answer;
    const answer = withDeadline(checkMs, (signal) => api.mayWrite(repository, sender, signal));
    // A pending check is shared and does not expire.
    const entry: CachedAccess = { answer, until: Number.POSITIVE_INFINITY };
    ofToken.delete(key);
    ofToken.set(key, entry);
    deleteOldest(ofToken, MAX_CACHED);
    answer.then(
      (mayWrite) => {
        entry.until = performance.now() + (mayWrite ? grantedMs : deniedMs);
      },
      () => {
        if (ofToken.get(key) === entry) ofToken.delete(key);
      },
    );
    return answer;
  }
}

/**
 * Runs all checks. Returns the results by check name. Rejects if a check failed temporarily, or if checks
 * failed permanently and no other check granted access.
 */
async function collectChecks(
  apisByCheck: ReadonlyMap<string, ReadonlySet<RepoApi>>,
  check: (apis: ReadonlySet<RepoApi>) => Promise<boolean>,
): Promise<Readonly<Record<string, boolean>>> {
  const results = await Promise.allSettled([...apisByCheck.values()].map(check));
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const retryable = failed.find((error) => !isFinal(error));
  if (retryable !== undefined) throw retryable;
  const isGranted = results.some((result) => result.status === 'fulfilled' && result.value);
  if (failed.length > 0 && !isGranted) throw failed[0];
  return Object.fromEntries(
    [...apisByCheck.keys()].flatMap((name, index) => {
      const result = results[index];
      return result?.status === 'fulfilled' ? [[name, result.value] as const] : [];
    }),
  );
}

const isFinal = (error: unknown) => error instanceof DeliveryError && error.isFinal;

/** Rejects at the deadline, even if `check` ignores its signal. */
function withDeadline(ms: number, check: (signal: AbortSignal) => Promise<boolean>): Promise<boolean> {
  const signal = AbortSignal.timeout(ms);
  return new Promise((resolve, reject) => {
    const expire = () =>
      reject(new DeliveryError(`the host did not confirm write access within ${ms / 1000} s`));
    signal.addEventListener('abort', expire, { once: true });
    check(signal)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', expire));
  });
}

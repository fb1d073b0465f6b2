// Who may command in comments: the host is asked, once for many events, before any trigger takes what they say.
//
// What could not be asked is no answer: the event is tried again, and taken by nobody meanwhile. Where the host refuses to
// answer for good nobody takes it either, unless the answer of another host lets somebody.
// Of one host any token may ask, since all get the same answer: those of the triggers that have the command, the next where
// one is refused.
// An answer is good for a minute at most: who is let in may at once, who was thrown out commands no longer than that.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { factsOf } from './event.ts';
import { mayWriteAt } from './filter.ts';
import type { RepoApi, RepoSender, RepoTrigger } from './host.ts';

const TRUE_MS = 60_000;
const FALSE_MS = 5_000;
/** Of one token. */
const MAX_KNOWN = 10_000;
/** Of one question, whatever the host is asked for it. */
const ASK_MS = 20_000;

export interface RepoWritersTimes {
  readonly trueMs?: number;
  readonly falseMs?: number;
  readonly askMs?: number;
}

interface Known {
  readonly answer: Promise<boolean>;
  /** In terms of performance.now. */
  until: number;
}

export class RepoWriters {
  /** By token; each question under the name of repository and user. */
  readonly #known = new WeakMap<RepoApi, Map<string, Known>>();
  readonly #times: Required<RepoWritersTimes>;

  constructor({ trueMs = TRUE_MS, falseMs = FALSE_MS, askMs = ASK_MS }: RepoWritersTimes = {}) {
    this.#times = { trueMs, falseMs, askMs };
  }

  /**
   * The event with the answers that these triggers need, which have the command that it is; undefined where none of them can ask.
   * Rejects with a DeliveryError.
   */
  complete<T extends RepoTrigger>(
    event: InboundEvent,
    triggers: readonly T[],
    apiOf: (trigger: T) => RepoApi | undefined,
  ): Promise<InboundEvent> | undefined {
    const { repository, sender: name, senderId: id } = factsOf(event);
    if (name === undefined || id === undefined) return undefined;
    const askers = new Map<string, Set<RepoApi>>();
    for (const trigger of triggers) {
      const api = apiOf(trigger);
      const check = mayWriteAt(trigger);
      if (api !== undefined) askers.set(check, (askers.get(check) ?? new Set()).add(api));
    }
    if (askers.size === 0) return undefined;
    const ask = (apis: ReadonlySet<RepoApi>) => this.#firstOf([...apis], repository, { name, id });
    return answersOf(askers, ask).then((checks) => ({ ...event, checks: { ...event.checks, ...checks } }));
  }

  async #firstOf(apis: readonly RepoApi[], repository: string, sender: RepoSender): Promise<boolean> {
    let refusal: unknown;
    for (const api of apis)
      try {
        return await this.#ask(api, repository, sender);
      } catch (error) {
        if (!isFinal(error)) throw error;
        refusal ??= error;
      }
    throw refusal;
  }

  /** Who asks while the same is being asked has the answer of that. */
  #ask(api: RepoApi, repository: string, sender: RepoSender): Promise<boolean> {
    const { trueMs, falseMs, askMs } = this.#times;
    const ofToken = this.#known.get(api) ?? new Map<string, Known>();
    this.#known.set(api, ofToken);
    const key = JSON.stringify([repository.toLowerCase(), sender.id]);
    const before = ofToken.get(key);
    if (before !== undefined && performance.now() < before.until) return before.answer;
    const answer = inTime(askMs, (signal) => api.mayWrite(repository, sender, signal));
    const known: Known = { answer, until: Number.POSITIVE_INFINITY };
    ofToken.delete(key);
    ofToken.set(key, known);
    forgetOldest(ofToken, MAX_KNOWN);
    answer.then(
      (mayWrite) => {
        known.until = performance.now() + (mayWrite ? trueMs : falseMs);
      },
      () => {
        if (ofToken.get(key) === known) ofToken.delete(key);
      },
    );
    return answer;
  }
}

/** By the names of checks. */
async function answersOf(
  askers: ReadonlyMap<string, ReadonlySet<RepoApi>>,
  ask: (apis: ReadonlySet<RepoApi>) => Promise<boolean>,
): Promise<Readonly<Record<string, boolean>>> {
  const results = await Promise.allSettled([...askers.values()].map(ask));
  const failed = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  const passing = failed.find((error) => !isFinal(error));
  if (passing !== undefined) throw passing;
  const isLetIn = results.some((result) => result.status === 'fulfilled' && result.value);
  if (failed.length > 0 && !isLetIn) throw failed[0];
  return Object.fromEntries(
    [...askers.keys()].flatMap((check, index) => {
      const result = results[index];
      return result?.status === 'fulfilled' ? [[check, result.value] as const] : [];
    }),
  );
}

const isFinal = (error: unknown) => error instanceof DeliveryError && error.isFinal;

/** Rejects at the deadline even where what was asked heeds no signal. */
function inTime(ms: number, ask: (signal: AbortSignal) => Promise<boolean>): Promise<boolean> {
  const signal = AbortSignal.timeout(ms);
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(new DeliveryError(`the host did not say within ${ms / 1000} s who may command`));
    signal.addEventListener('abort', late, { once: true });
    ask(signal)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', late));
  });
}

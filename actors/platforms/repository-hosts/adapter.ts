// Common adapter of the repository hosts: inbound webhooks, and answers as comments. A RepoHost (host.ts)
// supplies the parts that differ. A redelivery has the same id as the first delivery, so the store ignores it
// if the event is done, and retries it if the event is dead. If several hooks with different secrets or paths
// send one event, it is handled once per hook.

import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter } from '../adapter.ts';
import { Diagnostics } from '../diagnostics.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readRepoEvent } from './event.ts';
import { acceptsRepoEvent, isOfInterest, needsWriter } from './filter.ts';
import type { RepoApi, RepoHost, RepoTrigger } from './host.ts';
import { repoOutbound } from './outbound.ts';
import { type RepoSubscriber, repoPath } from './path.ts';
import { RepoWriters } from './writers.ts';

/**
 * Default of `recoverAfterMs`: redeliveries arrive within seconds, and the listener opens after the triggers.
 */
const RECOVER_AFTER_MS = 10_000;

export interface RepoAdapterOptions {
  readonly maxBodyBytes: number;
  /** Delay between `open` and the recovery of failed deliveries. */
  readonly recoverAfterMs?: number;
  /**
   * Replay window, for signed bodies under another id; the trigger's file may set it.
   * @default 0
   */
  readonly replayWindowMs?: number;
}

export function repoAdapter<T extends RepoTrigger, Api extends RepoApi>(
  repoHost: RepoHost<T, Api>,
  { maxBodyBytes, recoverAfterMs = RECOVER_AFTER_MS, replayWindowMs = 0 }: RepoAdapterOptions,
): Adapter<T> {
  const diagnostics = new Diagnostics();
  const writers = new RepoWriters();
  const table = new WebhookTable<RepoSubscriber<T, Api>>(repoPath(repoHost, maxBodyBytes, replayWindowMs));
  const { of: apiOf, digestOf } = new ClientsByCredential<T, Api>(
    ({ config: { api_url, token } }) => (token === undefined ? undefined : [api_url, token]),
    (trigger) => repoHost.api(trigger, trigger.config.token ?? ''),
  );

  /** APIs with tokens that may write reviews. */
  const reviewers = new Set<{ readonly apiUrl: string; readonly api: Api }>();
  const isOurs = ({ config: { api_url } }: RepoTrigger, name: string) =>
    [...reviewers].some(
      ({ apiUrl, api: { own } }) => apiUrl === api_url && (own.isName(name) || !own.isKnown),
    );

  return {
    type: repoHost.type,
    account: ({ config }) => new URL(config.api_url).host,
    async open(trigger, host) {
      const { path, api_url: apiUrl, reviews } = trigger.config;
      const api = apiOf(trigger);
      const reviewer = api !== undefined && reviews === 'allow' ? { apiUrl, api } : undefined;
      const subscriber = { trigger, host, methods: ['POST'], verifier: repoHost.verifier(trigger), api };
      const leave = await table.add(subscriber, path);
      const closing = new AbortController();
      const timer = setTimeout(() => {
        if (api === undefined) return;
        const sharedWith = sameVerifierNames(table.subscribersOf(path), subscriber);
        const verifiedFor = sharedWith[0] ?? trigger.name;
        void repoHost.recover?.({
          api,
          trigger,
          host,
          verifiedFor,
          sharedWith,
          diagnostics,
          signal: closing.signal,
        });
      }, recoverAfterMs).unref();
      api?.own.learn();
      if (reviewer !== undefined) reviewers.add(reviewer);
      return {
        close: async () => {
          clearTimeout(timer);
          if (reviewer !== undefined) reviewers.delete(reviewer);
          closing.abort();
          await leave();
        },
      };
    },
    read: (stored) => readRepoEvent(repoHost.events, stored),
    addLookups(inbound, triggers) {
      const incomplete = triggers.filter(
        (trigger) => needsWriter(trigger, inbound) && isOfInterest(repoHost.marks, trigger, inbound, isOurs),
      );
      return incomplete.length === 0 ? undefined : writers.complete(inbound, incomplete, apiOf);
    },
    accepts: (trigger, inbound) => acceptsRepoEvent(repoHost.marks, trigger, inbound, isOurs),
    outbound: repoOutbound(repoHost, apiOf, digestOf),
    diagnostics: ({ name }) => diagnostics.of(name),
  };
}

/**
 * Returns the names of subscribers with the same verifier, in their order. The first name is part of event
 * ids, because `receive` uses the first verified subscriber. While secrets are being changed, `receive` may
 * use another name; a redelivery is then requested needlessly, and recognised as a duplicate.
 */
function sameVerifierNames<T extends RepoTrigger, Api extends RepoApi>(
  subscribers: readonly RepoSubscriber<T, Api>[],
  { verifier }: RepoSubscriber<T, Api>,
): readonly string[] {
  return subscribers
    .filter((each) => each.verifier.identity === verifier.identity)
    .map(({ trigger }) => trigger.name);
}

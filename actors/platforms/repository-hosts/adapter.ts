// The adapter of a repository host, made of what the host has of its own (host.ts): webhooks come in, comments go out. A
// redelivery keeps its id, so the store knows what to do with it: one that is done is ignored, one that is dead runs again. Several
// hooks that send one event are several deliveries, as far as triggers with other secrets or paths take them.

import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter } from '../adapter.ts';
import { Remarks } from '../remarks.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readRepoEvent } from './event.ts';
import { isOfInterest, needsWriter, takesRepoEvent } from './filter.ts';
import type { RepoApi, RepoHost, RepoTrigger } from './host.ts';
import { repoOutbound } from './outbound.ts';
import { type RepoSubscriber, repoPath } from './path.ts';
import { RepoWriters } from './writers.ts';

/** What was asked for again comes within seconds, and the listener opens after the triggers. */
const RECOVER_AFTER_MS = 10_000;

export interface RepoAdapterOptions {
  readonly maxBodyBytes: number;
  /** When failed deliveries are asked for, counted from `open`. */
  readonly askAfterMs?: number;
  /** For how long what was signed is known under other ids too, where a trigger does not say so. @default 0 */
  readonly replayWindowMs?: number;
}

export function repoAdapter<T extends RepoTrigger, Api extends RepoApi>(
  kind: RepoHost<T, Api>,
  { maxBodyBytes, askAfterMs = RECOVER_AFTER_MS, replayWindowMs = 0 }: RepoAdapterOptions,
): Adapter<T> {
  const remarks = new Remarks();
  const writers = new RepoWriters();
  const table = new WebhookTable<RepoSubscriber<T, Api>>(repoPath(kind, maxBodyBytes, replayWindowMs));
  const { of: apiOf, digestOf } = new ClientsByCredential<T, Api>(
    ({ config: { api_url, token } }) => (token === undefined ? undefined : [api_url, token]),
    (trigger) => kind.api(trigger, trigger.config.token ?? ''),
  );

  /** Whose tokens write reviews. */
  const reviewers = new Set<{ readonly apiUrl: string; readonly api: Api }>();
  const isOurs = ({ config: { api_url } }: RepoTrigger, name: string) =>
    [...reviewers].some(({ apiUrl, api: { own } }) => apiUrl === api_url && (own.is(name) || !own.isKnown));

  return {
    type: kind.type,
    account: ({ config }) => new URL(config.api_url).host,
    async open(trigger, host) {
      const { path, api_url: apiUrl, reviews } = trigger.config;
      const api = apiOf(trigger);
      const reviewer = api !== undefined && reviews === 'allow' ? { apiUrl, api } : undefined;
      const member = { trigger, host, methods: ['POST'], verifier: kind.verifier(trigger), api };
      const leave = await table.add(member, path);
      const closing = new AbortController();
      const timer = setTimeout(() => {
        if (api === undefined) return;
        const alike = namesAlike(table.membersOf(path), member);
        const verifiedFor = alike[0] ?? trigger.name;
        void kind.recover?.({ api, trigger, host, verifiedFor, alike, remarks, signal: closing.signal });
      }, askAfterMs).unref();
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
    read: (stored) => readRepoEvent(kind.events, stored),
    complete(inbound, triggers) {
      const asking = triggers.filter(
        (trigger) => needsWriter(trigger, inbound) && isOfInterest(kind.marks, trigger, inbound, isOurs),
      );
      return asking.length === 0 ? undefined : writers.complete(inbound, asking, apiOf);
    },
    takes: (trigger, inbound) => takesRepoEvent(kind.marks, trigger, inbound, isOurs),
    outbound: repoOutbound(kind, apiOf, digestOf),
    remarks: ({ name }) => remarks.of(name),
  };
}

/**
 * Who takes the same proofs, in their order. The first of them stands in the ids of what is proven, as `receive` will choose it.
 * While the secrets of a path are being changed it may choose another; then what is here already is asked for once more, and
 * known when it comes.
 */
function namesAlike<T extends RepoTrigger, Api extends RepoApi>(
  members: readonly RepoSubscriber<T, Api>[],
  { verifier }: RepoSubscriber<T, Api>,
): readonly string[] {
  return members
    .filter((each) => each.verifier.identity === verifier.identity)
    .map(({ trigger }) => trigger.name);
}

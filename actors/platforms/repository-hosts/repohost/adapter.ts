// Adapter for triggers of type RepoHost: webhooks, and answers as comments or reviews. Headers, signature and
// API are specific to the host.

import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { htmlMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { canonicalSignature } from '../../webhooks/hub-signature.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import { RequestedAttempts, requestRedeliveries } from '../failed-deliveries.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostApi } from './api.ts';
import { repoHostEvents } from './facts.ts';
import { repoHostHooks } from './hooks.ts';
import { NotedHooks } from './noted-hooks.ts';
import { repoHostDelivery, repoHostVerifier, SIGNATURE } from './path.ts';

const USER_RETRY_MS = 60_000;
/** Matches `@login` and `@org/team`. The `@` may be an HTML entity, which the page renders. */
const MENTION = /(?<![A-Za-z0-9])(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[A-Za-z0-9])/g;

export interface RepoHostOptions extends RepoAdapterOptions {
  /** Minimum pause, after failures, between requests for the token's user. */
  readonly userRetryMs?: number;
}

export function repoHostAdapter({
  userRetryMs = USER_RETRY_MS,
  ...options
}: RepoHostOptions): Adapter<RepoHostTrigger> {
  return repoAdapter(repoHost(userRetryMs), options);
}

function repoHost(userRetryMs: number): RepoHost<RepoHostTrigger, RepoHostApi> {
  const hooks = new NotedHooks();
  const hooksOf = repoHostHooks(hooks);
  const requestedAttempts = new RequestedAttempts();
  return {
    type: 'RepoHost',
    events: repoHostEvents,
    verifier: repoHostVerifier,
    unauthorised: 'X-Hub-Signature-256 is missing or does not match a secret of this path',
    delivery: repoHostDelivery,
    signature: ({ headers }) => canonicalSignature(headers[SIGNATURE]),
    api: ({ config }, token) => new RepoHostApi(config.api_url, token, userRetryMs),
    marks: htmlMarks,
    maxComment: 65_536,
    mentions: { pattern: MENTION },
    reviews: { verdicts: ['approve', 'request_changes'], haveText: true },
    noteDelivery: ({ store }, ...delivery) => hooks.note(store, ...delivery),
    recover: (recovery) => requestRedeliveries({ ...recovery, requestedAttempts, hooksOf }),
  };
}

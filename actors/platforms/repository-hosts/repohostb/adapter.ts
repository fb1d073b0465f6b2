// Adapter for triggers of type RepoHostB, a repository host with nested groups: webhooks, and answers as
// notes (comments) or reviews. Headers, proofs and API are specific to the host.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { htmlMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import { RequestedAttempts, requestRedeliveries } from '../failed-deliveries.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostBApi } from './api.ts';
import { repoHostBEvents } from './facts.ts';
import { repoHostBHooks } from './hooks.ts';
import { repoHostBDelivery, repoHostBVerifier } from './path.ts';
import { escapeQuickActions } from './quick-actions.ts';

const USER_RETRY_MS = 60_000;
/** Matches `@name`, `@group/sub` and `@all`. The `@` may be an HTML entity, which the page renders. */
const MENTION = /(?<!\w)(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[\w.])/g;

export interface RepoHostBOptions extends RepoAdapterOptions {
  /** Minimum pause, after failures, between requests for the token's user. */
  readonly userRetryMs?: number;
}

export function repoHostBAdapter({
  userRetryMs = USER_RETRY_MS,
  ...options
}: RepoHostBOptions): Adapter<RepoHostBTrigger> {
  return repoAdapter(repoHostB(userRetryMs), options);
}

function repoHostB(userRetryMs: number): RepoHost<RepoHostBTrigger, RepoHostBApi> {
  const requestedAttempts = new RequestedAttempts();
  return {
    type: 'RepoHostB',
    events: repoHostBEvents,
    verifier: repoHostBVerifier,
    unauthorised: 'X-Gitlab-Token or webhook-signature is missing or does not match a secret of this path',
    delivery: repoHostBDelivery,
    // Empty, because the signature covers the delivery id: it does not match another id.
    signature: () => '',
    api: ({ config }, token) => new RepoHostBApi(config.api_url, token, userRetryMs),
    marks: htmlMarks,
    maxComment: 1_000_000,
    escapeCommands: escapeQuickActions,
    mentions: { pattern: MENTION },
    reviews: { verdicts: ['approve'], haveText: false },
    recover: (recovery) => requestRedeliveries({ ...recovery, requestedAttempts, hooksOf: repoHostBHooks }),
  };
}

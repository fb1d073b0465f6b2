// Adapter for triggers of type RepoHostC, the third repository host: webhooks, and answers as comments or
// reviews. Headers, signature and API are specific to the host. Failed deliveries cannot be recovered: the
// host lists no deliveries. It retries a 5xx immediately, up to twice.

import type { RepoHostCTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { ResendMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostCApi } from './api.ts';
import { repoHostCEvents } from './facts.ts';
import { repoHostCDelivery, repoHostCSignature, repoHostCVerifier } from './path.ts';

const USER_RETRY_MS = 60_000;
/** Matches `@nickname` and `@{id}`. The `@` may be an HTML entity, which the page renders. */
const MENTION = /(?<![A-Za-z0-9])(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[A-Za-z0-9{"_])/g;

/**
 * Marks by which the gateway finds and recognises its own comments. They are unused link definitions, which
 * the page does not render; HTML comments would be visible there.
 */
const linkMarks = new ResendMarks({
  begin: '[//]: # (actor-gateway:',
  end: ')',
  replacement: '[//]: # (actor-gateway ',
});

export interface RepoHostCOptions extends RepoAdapterOptions {
  /** Minimum pause, after failures, between requests for the token's user. */
  readonly userRetryMs?: number;
}

export function repoHostCAdapter({
  userRetryMs = USER_RETRY_MS,
  ...options
}: RepoHostCOptions): Adapter<RepoHostCTrigger> {
  return repoAdapter(repoHostC(userRetryMs), options);
}

function repoHostC(userRetryMs: number): RepoHost<RepoHostCTrigger, RepoHostCApi> {
  return {
    type: 'RepoHostC',
    events: repoHostCEvents,
    verifier: repoHostCVerifier,
    unauthorised: 'X-Hub-Signature is missing or does not match a secret of this path',
    delivery: repoHostCDelivery,
    signature: repoHostCSignature,
    ownBy: 'senderId',
    api: ({ config }, token) => new RepoHostCApi(config.api_url, token, userRetryMs),
    marks: linkMarks,
    maxComment: 32_768,
    mentions: { pattern: MENTION, requiresClosedCode: true },
    // The host accepts comments on pull requests (`!`), not on issues (`#`).
    hasComments: ({ sign }) => sign === '!',
    reviews: { verdicts: ['approve', 'request_changes'], haveText: false },
  };
}

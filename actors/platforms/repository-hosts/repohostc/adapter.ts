// Triggers of type RepoHostC: webhooks of the third repository host, and comments as answers. The headers, the signature and the
// API are those of the platform itself. What failed cannot be asked for again: the host repeats what got a 5xx by itself, at once
// and twice at most, and lists no deliveries.

import type { RepoHostCTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { ResendMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostCApi } from './api.ts';
import { repoHostCEvents } from './facts.ts';
import { repoHostCDelivery, repoHostCSignature, repoHostCVerifier } from './path.ts';

const ASK_ACCOUNT_EVERY_MS = 60_000;
/** `@nickname` and `@{id}`, also with a sign that only the page shows as one. */
const MENTION = /(?<![A-Za-z0-9])(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[A-Za-z0-9{"_])/g;

/** HTML is shown as it is written there. What a link is to be, where no text has such a link, is shown to nobody. */
const linkMarks = new ResendMarks({
  begin: '[//]: # (actor-gateway:',
  end: ')',
  harmless: '[//]: # (actor-gateway ',
});

export interface RepoHostCOptions extends RepoAdapterOptions {
  /** How soon a host that could not say whose token it is is asked again. */
  readonly askAccountEveryMs?: number;
}

export function repoHostCAdapter({
  askAccountEveryMs = ASK_ACCOUNT_EVERY_MS,
  ...options
}: RepoHostCOptions): Adapter<RepoHostCTrigger> {
  return repoAdapter(repoHostC(askAccountEveryMs), options);
}

function repoHostC(askAccountEveryMs: number): RepoHost<RepoHostCTrigger, RepoHostCApi> {
  return {
    type: 'RepoHostC',
    events: repoHostCEvents,
    verifier: repoHostCVerifier,
    unauthorised: 'X-Hub-Signature is missing, or fits no secret of this path',
    delivery: repoHostCDelivery,
    signature: repoHostCSignature,
    ownBy: 'senderId',
    api: ({ config }, token) => new RepoHostCApi(config.api_url, token, askAccountEveryMs),
    marks: linkMarks,
    maxComment: 32_768,
    mentions: { pattern: MENTION, isCodeClosed: true },
    hasComments: ({ sign }) => sign === '!',
    reviews: { verdicts: ['approve', 'request_changes'], haveWords: false },
  };
}

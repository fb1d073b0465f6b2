// Triggers of type RepoHostB: webhooks of a repository host whose groups stand in groups, and notes as answers. The headers, the
// proofs and the API are those of the platform itself.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { htmlMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import { AskedFor, askForFailed } from '../failed-deliveries.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostBApi } from './api.ts';
import { repoHostBEvents } from './facts.ts';
import { repoHostBHooks } from './hooks.ts';
import { repoHostBDelivery, repoHostBVerifier } from './path.ts';
import { withoutQuickActions } from './quick-actions.ts';

const ASK_NAME_EVERY_MS = 60_000;
/** `@name`, `@group/sub` and `@all`, also with a sign that only the page shows as one. */
const MENTION = /(?<!\w)(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[\w.])/g;

export interface RepoHostBOptions extends RepoAdapterOptions {
  /** How soon a host that could not say whose token it is is asked again. */
  readonly askNameEveryMs?: number;
}

export function repoHostBAdapter({
  askNameEveryMs = ASK_NAME_EVERY_MS,
  ...options
}: RepoHostBOptions): Adapter<RepoHostBTrigger> {
  return repoAdapter(repoHostB(askNameEveryMs), options);
}

function repoHostB(askNameEveryMs: number): RepoHost<RepoHostBTrigger, RepoHostBApi> {
  const asked = new AskedFor();
  return {
    type: 'RepoHostB',
    events: repoHostBEvents,
    verifier: repoHostBVerifier,
    unauthorised: 'X-Gitlab-Token or webhook-signature is missing, or fits no secret of this path',
    delivery: repoHostBDelivery,
    // What is signed is signed with its id.
    signature: () => '',
    api: ({ config }, token) => new RepoHostBApi(config.api_url, token, askNameEveryMs),
    marks: htmlMarks,
    maxComment: 1_000_000,
    harmless: withoutQuickActions,
    mentions: { pattern: MENTION },
    reviews: { verdicts: ['approve'], haveWords: false },
    recover: (recovery) => askForFailed({ ...recovery, asked, hooksOf: repoHostBHooks }),
  };
}

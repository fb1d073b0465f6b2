// Triggers of type RepoHost: webhooks of a repository host, and comments as answers. The headers, the signature and the
// API are those of the platform itself.

import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { htmlMarks } from '../../../events/outbox/resend-mark.ts';
import type { Adapter } from '../../adapter.ts';
import { type RepoAdapterOptions, repoAdapter } from '../adapter.ts';
import { AskedFor, askForFailed } from '../failed-deliveries.ts';
import type { RepoHost } from '../host.ts';
import { RepoHostApi } from './api.ts';
import { repoHostEvents } from './facts.ts';
import { repoHostHooks } from './hooks.ts';
import { KnownHooks } from './known-hooks.ts';
import { repoHostDelivery, repoHostVerifier, SIGNATURE } from './path.ts';

const ASK_LOGIN_EVERY_MS = 60_000;
/** `@login` and `@org/team`, also with a sign that only the page shows as one. */
const MENTION = /(?<![A-Za-z0-9])(?:@|&commat;|&#0*64;|&#[xX]0*40;)(?=[A-Za-z0-9])/g;

export interface RepoHostOptions extends RepoAdapterOptions {
  /** How soon a host that could not say whose token it is is asked again. */
  readonly askLoginEveryMs?: number;
}

export function repoHostAdapter({
  askLoginEveryMs = ASK_LOGIN_EVERY_MS,
  ...options
}: RepoHostOptions): Adapter<RepoHostTrigger> {
  return repoAdapter(repoHost(askLoginEveryMs), options);
}

function repoHost(askLoginEveryMs: number): RepoHost<RepoHostTrigger, RepoHostApi> {
  const hooks = new KnownHooks();
  const hooksOf = repoHostHooks(hooks);
  const asked = new AskedFor();
  return {
    type: 'RepoHost',
    events: repoHostEvents,
    verifier: repoHostVerifier,
    unauthorised: 'X-Hub-Signature-256 is missing, or fits no secret of this path',
    delivery: repoHostDelivery,
    signature: ({ headers }) => headers[SIGNATURE] ?? '',
    api: ({ config }, token) => new RepoHostApi(config.api_url, token, askLoginEveryMs),
    marks: htmlMarks,
    maxComment: 65_536,
    mentions: { pattern: MENTION },
    reviews: { verdicts: ['approve', 'request_changes'], haveWords: true },
    noteDelivery: ({ store }, ...delivery) => hooks.note(store, ...delivery),
    recover: (recovery) => askForFailed({ ...recovery, asked, hooksOf }),
  };
}

// Triggers of type RepoHost: webhooks of a repository host, and comments as answers. The headers, the signature and the
// API are those of the platform itself. A redelivery keeps its id, so the store knows what to do with it: one that is done
// is ignored, one that is dead runs again. Several hooks that send one event are several deliveries, as far as triggers
// with other secrets or paths take them.

import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { ClientsByCredential } from '../clients-by-credential.ts';
import { hubVerifier } from '../hub-verifier.ts';
import { Remarks } from '../remarks.ts';
import type { Verifier } from '../verified-subscribers.ts';
import { WebhookTable } from '../webhook-table.ts';
import { AskedFor, askForFailed } from './failed-deliveries.ts';
import { KnownHooks } from './known-hooks.ts';
import { RepoHostApi } from './repohost-api.ts';
import { readRepoEvent } from './repohost-event.ts';
import { takesRepoEvent } from './repohost-filter.ts';
import { repoHostOutbound } from './repohost-outbound.ts';
import { type RepoSubscriber, repoHostPath, SIGNATURE } from './repohost-path.ts';

/** What was asked for again comes within seconds, and the listener opens after the triggers. */
const ASK_AFTER_MS = 10_000;
const ASK_LOGIN_EVERY_MS = 60_000;

export interface RepoHostOptions {
  readonly maxBodyBytes: number;
  /** When failed deliveries are asked for, counted from `open`. */
  readonly askAfterMs?: number;
  /** How soon a host that could not say whose token it is is asked again. */
  readonly askLoginEveryMs?: number;
  /** For how long what was signed is known under other ids too, where a trigger does not say so. @default 0 */
  readonly replayWindowMs?: number;
}

export function repoHostAdapter({
  maxBodyBytes,
  askAfterMs = ASK_AFTER_MS,
  askLoginEveryMs = ASK_LOGIN_EVERY_MS,
  replayWindowMs = 0,
}: RepoHostOptions): Adapter<RepoHostTrigger> {
  const hooks = new KnownHooks();
  const remarks = new Remarks();
  const table = new WebhookTable<RepoSubscriber>(repoHostPath(maxBodyBytes, replayWindowMs, hooks));
  const { of: apiOf, digestOf } = new ClientsByCredential<RepoHostTrigger, RepoHostApi>(
    ({ config: { api_url, token } }) => (token === undefined ? undefined : [api_url, token]),
    ({ config: { api_url, token = '' } }) => new RepoHostApi(api_url, token, askLoginEveryMs),
  );
  const asked = new AskedFor();

  return {
    type: 'RepoHost',
    account: ({ config }) => new URL(config.api_url).host,
    async open(trigger: RepoHostTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { path } = trigger.config;
      const verifier = verifierOf(trigger);
      const api = apiOf(trigger);
      const member = { trigger, host, methods: ['POST'], verifier, api };
      const leave = await table.add(member, path);
      const closing = new AbortController();
      const timer = setTimeout(() => {
        if (api === undefined) return;
        const alike = namesAlike(table.membersOf(path), member);
        const verifiedFor = alike[0] ?? trigger.name;
        const { signal } = closing;
        void askForFailed({ api, trigger, verifiedFor, alike, host, asked, hooks, remarks, signal });
      }, askAfterMs).unref();
      api?.own.learn();
      return {
        close: async () => {
          clearTimeout(timer);
          closing.abort();
          await leave();
        },
      };
    },
    read: readRepoEvent,
    takes: takesRepoEvent,
    outbound: repoHostOutbound(apiOf, digestOf),
    remarks: ({ name }) => remarks.of(name),
  };
}

function verifierOf({ config }: RepoHostTrigger): Verifier {
  return hubVerifier({
    header: SIGNATURE,
    secrets: [config.webhook_secret, config.webhook_secret_previous],
    field: 'webhook_secret',
    allowsUnverified: config.insecure_allow_unverified,
  });
}

/**
 * Who takes the same signatures, in their order. The first of them stands in the ids of what is signed, as `receive` will choose it.
 * While the secrets of a path are being changed it may choose another; then what is here already is asked for once more, and
 * known when it comes.
 */
function namesAlike(members: readonly RepoSubscriber[], { verifier }: RepoSubscriber): readonly string[] {
  return members
    .filter((each) => each.verifier.identity === verifier.identity)
    .map(({ trigger }) => trigger.name);
}

// Triggers of type RepoHost: webhooks of a repository host, and comments as answers. The headers, the signature and the
// API are those of the platform itself. A redelivery keeps its id, so the store knows what to do with it: one that is done
// is ignored, one that is dead runs again. Several hooks that send one event are several deliveries, as far as triggers
// with other secrets or paths take them.

import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import { isRefusal } from '../../principal.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { ClientsByCredential } from '../clients-by-credential.ts';
import { hubVerifier } from '../hub-verifier.ts';
import { SeenBodies } from '../seen-bodies.ts';
import { admitted, refusal, type Verifier, verifiedSubscribers } from '../verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhook.ts';
import { ignored, malformed, takenReply } from '../webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber, WebhookTable } from '../webhook-table.ts';
import { isRepoEvent } from './context.ts';
import { AskedFor, askForFailed } from './failed-deliveries.ts';
import { RepoHostApi } from './repohost-api.ts';
import { readRepoEvent, repoEvent, repoEventId, repoSaid } from './repohost-event.ts';
import { takesRepoEvent } from './repohost-filter.ts';
import { repoHostOutbound } from './repohost-outbound.ts';

const SIGNATURE = 'x-hub-signature-256';
/** What was asked for again comes within seconds, and the listener opens after the triggers. */
const ASK_AFTER_MS = 10_000;
const ASK_LOGIN_EVERY_MS = 60_000;

interface RepoSubscriber extends WebhookSubscriber {
  readonly trigger: RepoHostTrigger;
  readonly verifier: Verifier;
  readonly api: RepoHostApi | undefined;
}

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
  const table = new WebhookTable<RepoSubscriber>(new RepoHostPath(maxBodyBytes, replayWindowMs));
  const { of: apiOf } = new ClientsByCredential<RepoHostTrigger, RepoHostApi>(
    ({ config: { api_url, token } }) => (token === undefined ? undefined : [api_url, token]),
    ({ config: { api_url, token = '' } }) => new RepoHostApi(api_url, token, askLoginEveryMs),
  );
  const asked = new AskedFor();

  return {
    type: 'RepoHost',
    read: readRepoEvent,
    takes: takesRepoEvent,
    outbound: repoHostOutbound(apiOf),
    async open(trigger: RepoHostTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { path } = trigger.config;
      const verifier = verifierOf(trigger);
      if (verifier.isOpen)
        host.log.warn({ trigger: trigger.name, path }, 'trigger takes what nobody has signed');
      const api = apiOf(trigger);
      const member = { trigger, host, methods: ['POST'], verifier, api };
      const leave = await table.add(member, path);
      const closing = new AbortController();
      const timer = setTimeout(() => {
        if (api === undefined) return;
        const verifiedFor = firstAlike(table.membersOf(path), member);
        void askForFailed({ api, trigger, verifiedFor, host, asked, signal: closing.signal });
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
 * The name in the ids of what is signed for a trigger, as `receive` will choose it. While the secrets of a path are being
 * changed it may choose another; then what is here already is asked for once more, and known when it comes.
 */
function firstAlike(members: readonly RepoSubscriber[], { trigger, verifier }: RepoSubscriber): string {
  const first = members.find((each) => each.verifier.identity === verifier.identity);
  return (first?.trigger ?? trigger).name;
}

class RepoHostPath implements PathUse<RepoSubscriber> {
  readonly maxBodyBytes: number;
  readonly #replayWindowMs: number;
  readonly #seen = new SeenBodies();

  constructor(maxBodyBytes: number, replayWindowMs: number) {
    this.maxBodyBytes = maxBodyBytes;
    this.#replayWindowMs = replayWindowMs;
  }

  admit(members: readonly RepoSubscriber[], request: WebhookRequest): WebhookReply | undefined {
    return admitted(members, request, UNAUTHORISED);
  }

  async receive(
    members: readonly RepoSubscriber[],
    request: WebhookRequest,
    body: Buffer,
  ): Promise<WebhookReply> {
    const verdict = verifiedSubscribers(members, request, body);
    const known = verdict instanceof Promise ? await verdict : verdict;
    if (isRefusal(known)) return refusal(request, UNAUTHORISED, known);
    const { subscribers, principal } = known;
    const [first] = subscribers;
    const { 'x-github-event': event = '', 'x-github-delivery': delivery = '' } = request.headers;
    if (!/^\w{1,64}$/.test(event)) return malformed('X-GitHub-Event is missing, or names no event');
    if (!/^[\w.:-]{1,128}$/.test(delivery)) return malformed('X-GitHub-Delivery is missing, or is no id');
    if (event === 'ping') return { status: 200, body: { status: 'pong' } };
    // Of all it was verified for, not of those that take it: whose token sent it may become known in between.
    const id = repoEventId(first.trigger.name, delivery);
    if (!isRepoEvent(event)) return ignored(id);
    const said = await repoSaid(event, request, body);
    if (said === undefined) return malformed(`the body is not the payload of an event ${event}`);
    const { facts } = said;
    for (const { api } of subscribers) api?.own.learn();
    // By the name of the token's user: what a token wrote must not come back to the trigger that has it.
    const takers = subscribers.filter(({ api }) => api?.own.is(facts.sender) !== true);
    if (takers.length === 0) return ignored(id);
    const names = namesOf(takers);
    const signed = {
      place: first.trigger.config.path,
      signature: request.headers[SIGNATURE] ?? '',
      id,
      isNamed: true,
      windowMs: this.#windowOf(first),
    };
    const taken = await this.#seen.takeOnce(signed, () =>
      first.host.accept(repoEvent(names, request, { id, event, principal, ...said }, body)),
    );
    return takenReply(id, taken);
  }

  /** What nobody has signed is not known again. */
  #windowOf({ trigger, verifier }: RepoSubscriber): number {
    if (verifier.isOpen) return 0;
    const { replay_window_seconds: seconds } = trigger.config;
    return seconds === undefined ? this.#replayWindowMs : seconds * 1000;
  }
}

const UNAUTHORISED = 'X-Hub-Signature-256 is missing, or fits no secret of this path';

// Webhook endpoint: receives webhooks of the tracker and requests of automation rules. Requests that no
// trigger here handles are ignored.
//
// The tracker's delivery identifier is equal for redeliveries, but not signed. A request that lacks it, such
// as one from a rule, is always a new event. Within the trigger's replay window, a signed body under another
// identifier is a duplicate (replay-guard.ts).

import { createHash, randomUUID } from 'node:crypto';
import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { canonicalSignature } from '../webhooks/hub-signature.ts';
import { SeenBodies } from '../webhooks/replay-guard.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { acceptanceReply, ignored, malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { parseTrackerRequest, trackerAccount, trackerEvent } from './event.ts';

export const SIGNATURE = 'x-hub-signature';
const IDENTIFIER = 'x-atlassian-webhook-identifier';

export type TrackerSubscriber = WebhookSubscriber<IssueTrackerTrigger>;

export function issueTrackerPath(maxBodyBytes: number): PathHandler<TrackerSubscriber> {
  const seen = new SeenBodies();
  return {
    maxBodyBytes,
    unauthorisedText: 'the signature, header or token is missing or does not match a trigger of this path',
    async receive({ subscribers, principal }, request, body) {
      const [first] = subscribers;
      const { identifier, isNamed } = identifierOf(request);
      // The id contains the first verified trigger. Otherwise a sender with the secret of one trigger could
      // suppress an event of another trigger by its identifier.
      const ownId = `issuetracker:${first.trigger.name}/${identifier}`;
      const parsed = await parseTrackerRequest(
        body,
        new URLSearchParams(request.query).get('event') ?? undefined,
      );
      if (parsed === undefined) return malformed('the body is not an issue tracker event');
      if (parsed === 'ignored') return ignored(ownId);
      const receivers = ofTracker(subscribers, parsed.tracker);
      const { newComment } = parsed.facts;
      const id =
        newComment === undefined
          ? seen.eventIdOf({
              path: first.trigger.config.path,
              signature: canonicalSignature(request.headers[SIGNATURE]),
              id: ownId,
              isNamed,
              windowMs: windowOf(first),
            })
          : `issuetracker:${first.trigger.name}/comment/${accountsOf(receivers)[0]}/${newComment}`;
      const appended = await first.host.accept(
        trackerEvent(
          {
            id,
            triggers: namesOf(receivers),
            accounts: accountsOf(receivers),
            principal,
            trace: request.traceparent,
          },
          parsed,
          body,
        ),
      );
      return acceptanceReply(appended);
    },
  };
}

type Subscribers = readonly [TrackerSubscriber, ...TrackerSubscriber[]];

/**
 * Selects the triggers of the tracker that sent the event, if several trackers share a secret and the payload
 * contains an address.
 */
function ofTracker(subscribers: Subscribers, tracker: string | undefined): Subscribers {
  const [first, ...others] = subscribers.filter(
    ({ trigger }) => new URL(trigger.config.base_url).host === tracker,
  );
  return first === undefined ? subscribers : [first, ...others];
}

function accountsOf([first, ...others]: Subscribers): readonly [string, ...string[]] {
  return [trackerAccount(first.trigger), ...others.map(({ trigger }) => trackerAccount(trigger))];
}

function identifierOf({ headers }: WebhookRequest): { identifier: string; isNamed: boolean } {
  const header = headers[IDENTIFIER] ?? '';
  if (header === '') return { identifier: `unnamed:${randomUUID()}`, isNamed: false };
  if (/^[\w.+=-]{1,128}$/.test(header)) return { identifier: header, isNamed: true };
  const digest = createHash('sha256').update(header).digest('hex');
  return { identifier: `digest:${digest}`, isNamed: true };
}

/** Returns the replay window; 0 for requests with a header or token, which does not protect the body. */
function windowOf({ trigger, verifier }: TrackerSubscriber): number {
  const { auth_mode, replay_window_seconds: seconds = 0 } = trigger.config;
  return verifier.isOpen || auth_mode !== 'hmac' ? 0 : seconds * 1000;
}

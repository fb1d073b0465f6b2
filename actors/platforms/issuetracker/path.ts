// What a path of an issue tracker takes: events of its webhooks, and what its rules send, not all of which is an event for anybody here.
//
// ITP1  the tracker's identifier of a delivery stays the same when it comes again, and is not signed. What has none, as requests of
//       rules, is an event each time; of what was signed the same body under another identifier is none where the trigger says for
//       how long (seen-bodies.ts).

import { createHash, randomUUID } from 'node:crypto';
import type { IssueTrackerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { SeenBodies } from '../webhooks/seen-bodies.ts';
import type { WebhookRequest } from '../webhooks/webhook.ts';
import { ignored, malformed, takenReply } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { trackerAccount, trackerEvent, trackerSaid } from './event.ts';

export const SIGNATURE = 'x-hub-signature';
const IDENTIFIER = 'x-atlassian-webhook-identifier';

export type TrackerSubscriber = WebhookSubscriber<IssueTrackerTrigger>;

export function issueTrackerPath(maxBodyBytes: number): PathUse<TrackerSubscriber> {
  const seen = new SeenBodies();
  return {
    maxBodyBytes,
    unauthorised:
      'the signature, header or token of this request is missing, or fits no trigger of this path',
    async receive({ subscribers, principal }, request, body) {
      const [first] = subscribers;
      const { identifier, isNamed } = identifierOf(request);
      // Of all it was verified for: one team must not silence another.
      const id = `issuetracker:${first.trigger.name}/${identifier}`;
      const said = await trackerSaid(body, new URLSearchParams(request.query).get('event') ?? undefined);
      if (said === undefined) return malformed('the body is no event of an issue tracker');
      if (said === 'ignored') return ignored(id);
      const takers = ofTracker(subscribers, said.tracker);
      const signed = {
        place: first.trigger.config.path,
        signature: request.headers[SIGNATURE] ?? '',
        id,
        isNamed,
        windowMs: windowOf(first),
      };
      const taken = await seen.takeOnce(signed, () =>
        first.host.accept(
          trackerEvent(
            {
              id,
              triggers: namesOf(takers),
              accounts: accountsOf(takers),
              principal,
              trace: request.traceparent,
            },
            said,
            body,
          ),
        ),
      );
      return takenReply(id, taken);
    },
  };
}

type Some = readonly [TrackerSubscriber, ...TrackerSubscriber[]];

/** Where several trackers have one secret an event is for the triggers of its own, if it says which that is. */
function ofTracker(subscribers: Some, tracker: string | undefined): Some {
  const [first, ...others] = subscribers.filter(
    ({ trigger }) => new URL(trigger.config.base_url).host === tracker,
  );
  return first === undefined ? subscribers : [first, ...others];
}

function accountsOf([first, ...others]: Some): readonly [string, ...string[]] {
  return [trackerAccount(first.trigger), ...others.map(({ trigger }) => trackerAccount(trigger))];
}

function identifierOf({ headers }: WebhookRequest): { identifier: string; isNamed: boolean } {
  const given = headers[IDENTIFIER] ?? '';
  if (given === '') return { identifier: `unnamed:${randomUUID()}`, isNamed: false };
  if (/^[\w.+=-]{1,128}$/.test(given)) return { identifier: given, isNamed: true };
  const digest = createHash('sha256').update(given).digest('hex');
  return { identifier: `digest:${digest}`, isNamed: true };
}

/** Neither what nobody has signed nor what a header or a token proves is known again: they say nothing of the body. */
function windowOf({ trigger, verifier }: TrackerSubscriber): number {
  const { auth_mode, replay_window_seconds: seconds = 0 } = trigger.config;
  return verifier.isOpen || auth_mode !== 'hmac' ? 0 : seconds * 1000;
}

// What a path of a repository host takes: deliveries with the event and their id in headers, not all of which are events for
// anybody here.

import { randomUUID } from 'node:crypto';
import { SeenBodies } from '../webhooks/seen-bodies.ts';
import { ignored, malformed, takenReply } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { repoEvent, repoEventId, repoSaid } from './event.ts';
import type { RepoApi, RepoHost, RepoTrigger } from './host.ts';

export interface RepoSubscriber<T extends RepoTrigger, Api extends RepoApi> extends WebhookSubscriber<T> {
  readonly api: Api | undefined;
}

/** `replayWindowMs`: for how long what was signed is known under other ids too, where a trigger does not say so. */
export function repoPath<T extends RepoTrigger, Api extends RepoApi>(
  kind: RepoHost<T, Api>,
  maxBodyBytes: number,
  replayWindowMs: number,
): PathUse<RepoSubscriber<T, Api>> {
  const seen = new SeenBodies();
  const { events } = kind;
  return {
    maxBodyBytes,
    unauthorised: kind.unauthorised,
    async receive({ subscribers, principal }, request, body) {
      const [first] = subscribers;
      const delivery = kind.delivery(request);
      if (delivery === 'ping') return { status: 200, body: { status: 'pong' } };
      if ('fault' in delivery) return malformed(delivery.fault);
      const { event, id: named } = delivery;
      // Of all it was verified for, not of those that take it: whose token sent it may become known in between.
      const id = repoEventId(events, first.trigger.name, named ?? randomUUID());
      if (!events.isKnown(event)) return ignored(id);
      const said = await repoSaid(events, event, request, body);
      if (said === undefined) return malformed(`the body is not the payload of an event ${event}`);
      if (said === 'for nobody') return ignored(id);
      const { facts } = said;
      for (const { api } of subscribers) api?.own.learn();
      // By the token's user: what a token wrote must not come back to the trigger that has it.
      const who = facts[kind.ownBy ?? 'sender'];
      const takers = subscribers.filter(({ api }) => api?.own.is(who) !== true);
      if (takers.length === 0) return ignored(id);
      const signature = kind.signature(request);
      const signed = {
        place: first.trigger.config.path,
        signature,
        id,
        isNamed: named !== undefined,
        windowMs: signature === '' ? 0 : windowOf(first, replayWindowMs),
      };
      const taken = await seen.takeOnce(signed, () =>
        first.host.accept(
          repoEvent(events, namesOf(takers), request, { id, event, principal, ...said }, body),
        ),
      );
      if (!first.verifier.isOpen)
        kind.noteDelivery?.(first.host, first.trigger.name, request, facts.repository);
      return takenReply(id, taken);
    },
  };
}

/** What nobody has signed is not known again. */
function windowOf({ trigger, verifier }: WebhookSubscriber<RepoTrigger>, byDefault: number): number {
  if (verifier.isOpen) return 0;
  const { replay_window_seconds: seconds } = trigger.config;
  return seconds === undefined ? byDefault : seconds * 1000;
}

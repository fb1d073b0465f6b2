// Webhook endpoint for repository hosts. Event name and delivery id are in headers. Deliveries that no
// trigger here handles are ignored.

import { randomUUID } from 'node:crypto';
import { SeenBodies } from '../webhooks/replay-guard.ts';
import { acceptanceReply, ignored, malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { parseRepoPayload, repoEvent, repoEventId } from './event.ts';
import type { RepoApi, RepoHost, RepoTrigger } from './host.ts';

export interface RepoSubscriber<T extends RepoTrigger, Api extends RepoApi> extends WebhookSubscriber<T> {
  readonly api: Api | undefined;
}

/**
 * `replayWindowMs` is the replay window, for signed bodies under another id; the trigger's file may set it.
 */
export function repoPath<T extends RepoTrigger, Api extends RepoApi>(
  repoHost: RepoHost<T, Api>,
  maxBodyBytes: number,
  replayWindowMs: number,
): PathHandler<RepoSubscriber<T, Api>> {
  const seen = new SeenBodies();
  const { events } = repoHost;
  return {
    maxBodyBytes,
    unauthorisedText: repoHost.unauthorised,
    async receive({ subscribers, principal }, request, body) {
      const [first] = subscribers;
      const delivery = repoHost.delivery(request);
      if (delivery === 'ping') return { status: 200, body: { status: 'pong' } };
      if ('fault' in delivery) return malformed(delivery.fault);
      const { event, id: deliveryId } = delivery;
      // The id contains the first verified subscriber, not the first receiver, because the receivers change
      // when a token's user is identified.
      const ownId = repoEventId(events, first.trigger.name, deliveryId ?? randomUUID());
      if (!events.isKnown(event)) return ignored(ownId);
      const parsed = await parseRepoPayload(events, event, request, body);
      if (parsed === undefined) return malformed(`the body is not the payload of an event ${event}`);
      if (parsed === 'unhandled') return ignored(ownId);
      const { facts } = parsed;
      for (const { api } of subscribers) api?.own.learn();
      // An event that a token's user caused must not reach the trigger with that token.
      const sender = facts[repoHost.ownBy ?? 'sender'];
      const receivers = subscribers.filter(({ api }) => api?.own.isName(sender) !== true);
      if (receivers.length === 0) return ignored(ownId);
      const signature = repoHost.signature(request);
      const id = seen.eventIdOf({
        path: first.trigger.config.path,
        signature,
        id: ownId,
        isNamed: deliveryId !== undefined,
        windowMs: signature === '' ? 0 : windowOf(first, replayWindowMs),
      });
      const appended = await first.host.accept(
        repoEvent(events, namesOf(receivers), request, { id, event, principal, ...parsed }, body),
      );
      if (!first.verifier.isOpen)
        repoHost.noteDelivery?.(first.host, first.trigger.name, request, facts.repository);
      return acceptanceReply(appended);
    },
  };
}

/** Returns the replay window; 0 for unsigned requests, because their replays cannot be detected. */
function windowOf({ trigger, verifier }: WebhookSubscriber<RepoTrigger>, byDefault: number): number {
  if (verifier.isOpen) return 0;
  const { replay_window_seconds: seconds } = trigger.config;
  return seconds === undefined ? byDefault : seconds * 1000;
}

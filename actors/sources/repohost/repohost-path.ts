// What a path of a repository host takes: deliveries with the event and their id in headers, not all of which are events for
// anybody here.

import type { RepoHostTrigger } from '../../../config/resources/triggers/trigger.ts';
import { SeenBodies } from '../seen-bodies.ts';
import { ignored, malformed, takenReply } from '../webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhook-table.ts';
import { isRepoEvent } from './context.ts';
import type { KnownHooks } from './known-hooks.ts';
import type { RepoHostApi } from './repohost-api.ts';
import { repoEvent, repoEventId, repoSaid } from './repohost-event.ts';

export const SIGNATURE = 'x-hub-signature-256';

export interface RepoSubscriber extends WebhookSubscriber<RepoHostTrigger> {
  readonly api: RepoHostApi | undefined;
}

/** `replayWindowMs`: for how long what was signed is known under other ids too, where a trigger does not say so. */
export function repoHostPath(
  maxBodyBytes: number,
  replayWindowMs: number,
  hooks: KnownHooks,
): PathUse<RepoSubscriber> {
  const seen = new SeenBodies();
  return {
    maxBodyBytes,
    unauthorised: 'X-Hub-Signature-256 is missing, or fits no secret of this path',
    async receive({ subscribers, principal }, request, body) {
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
        windowMs: windowOf(first, replayWindowMs),
      };
      const taken = await seen.takeOnce(signed, () =>
        first.host.accept(repoEvent(names, request, { id, event, principal, ...said }, body)),
      );
      if (!first.verifier.isOpen) hooks.note(first.host.store, first.trigger.name, request, facts.repository);
      return takenReply(id, taken);
    },
  };
}

/** What nobody has signed is not known again. */
function windowOf({ trigger, verifier }: RepoSubscriber, byDefault: number): number {
  if (verifier.isOpen) return 0;
  const { replay_window_seconds: seconds } = trigger.config;
  return seconds === undefined ? byDefault : seconds * 1000;
}

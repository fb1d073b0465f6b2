// Webhook endpoint: receives interactions. The platform waits three seconds for a response and does not
// redeliver. Each interaction is therefore acknowledged with a deferred reply (type 5) once it is durable,
// even if no trigger matches.
//
// A ping, an autocompletion request, and a press that opens a form get an immediate response and are not
// stored. An approval decision is acknowledged with type 6, which leaves the message unchanged until the
// result is known.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { isControlCall } from '../../events/built-in-commands.ts';
import type { Refusal } from '../../identity/principal.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { textMember } from '../payloads/payload-member.ts';
import { refusalReply } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { findMatch } from './access-filter.ts';
import { SIGNATURE, skewMsOf, TIMESTAMP } from './ed25519-verifier.ts';
import { contentIn, interactionEvent } from './event.ts';
import { formFor } from './form.ts';
import { AUTOCOMPLETE, credentialOf, decisionOf, PING } from './interaction.ts';
import type { InteractionTokens } from './interaction-tokens.ts';

export type CommunityChatSubscriber = WebhookSubscriber<CommunityChatTrigger>;

/** Response types of the platform. */
const pong: WebhookReply = { status: 200, body: { type: 1 } };
const deferredReply: WebhookReply = { status: 200, body: { type: 5 } };
const decisionAccepted: WebhookReply = { status: 200, body: { type: 6 } };
const MODAL = 9;
const noCompletions: WebhookReply = { status: 200, body: { type: 8, data: { choices: [] } } };

export function communityChatPath(
  maxBodyBytes: number,
  tokens: InteractionTokens,
): PathHandler<CommunityChatSubscriber> {
  const unauthorisedText = `${SIGNATURE} or ${TIMESTAMP} is missing or does not match a public_key of this path`;
  return {
    maxBodyBytes,
    unauthorisedText,
    async receive({ subscribers: all, principal }, request, body) {
      const subscribers = withinClockSkew(all, request);
      if (subscribers === undefined) return refusalReply(request, unauthorisedText, clockRefusal);
      const payload = jsonObjectIn(body);
      if (typeof payload?.type !== 'number') return malformed('the body is not an interaction');
      if (payload.type === PING) return pong;
      if (payload.type === AUTOCOMPLETE) return noCompletions;
      const credential = credentialOf(payload);
      if (credential === undefined) return malformed('the interaction has no id or no token');
      const ofApplication = subscribersOf(subscribers, textMember(payload, 'application_id'));
      const [{ trigger, host }] = ofApplication;
      const account = trigger.config.application_id;
      const triggers = ofApplication.map((each) => each.trigger);
      const origin = {
        account,
        triggers: namesOf(ofApplication),
        principal,
        trace: request.traceparent,
      };
      if (decisionOf(payload) !== undefined) {
        await host.accept(interactionEvent({ ...origin, isControl: true }, payload));
        return decisionAccepted;
      }
      const form = formFor(triggers, payload);
      if (form !== undefined) return { status: 200, body: { type: MODAL, data: form } };
      await tokens.save(account, credential.id, credential.token);
      const isControl = isControlOf(payload, triggers);
      await host.accept(interactionEvent({ ...origin, isControl }, payload));
      return deferredReply;
    },
  };
}

type Subscribers = readonly [CommunityChatSubscriber, ...CommunityChatSubscriber[]];

const clockRefusal: Refusal = {
  kind: 'wrong',
  reason: `${TIMESTAMP} differs too much from the local clock; check both clocks`,
};

/**
 * Returns the subscribers whose `max_skew_seconds` allows the request's timestamp; undefined if there is
 * none.
 */
function withinClockSkew(all: Subscribers, request: WebhookRequest): Subscribers | undefined {
  const skewMs = skewMsOf(request);
  const [first, ...others] = all.filter(({ trigger }) => skewMs <= trigger.config.max_skew_seconds * 1000);
  return first === undefined ? undefined : [first, ...others];
}

/**
 * Returns the subscribers of the application in the payload. The verified key belongs to one application. If
 * no subscriber has the application id of the payload, the configured id of the first subscriber applies.
 */
function subscribersOf(all: Subscribers, application: string | undefined): Subscribers {
  const isOf = (id: string) => all.filter(({ trigger }) => trigger.config.application_id === id);
  const [first, ...others] = isOf(application ?? all[0].trigger.config.application_id);
  if (first !== undefined) return [first, ...others];
  const [same, ...rest] = isOf(all[0].trigger.config.application_id);
  return [same ?? all[0], ...rest];
}

/**
 * Returns true for a built-in command that needs no agent, unless a matching trigger defines a command of
 * this name.
 */
function isControlOf(payload: unknown, triggers: readonly CommunityChatTrigger[]): boolean {
  const content = contentIn(payload);
  const [name = ''] = content.names;
  if (content.isChoice === true || !isControlCall(name, content.parameters)) return false;
  return findMatch(triggers, content)?.binding === undefined;
}

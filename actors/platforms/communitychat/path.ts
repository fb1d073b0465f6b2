// What a path does with interactions. The platform waits for three seconds and asks once: so each is acknowledged when it is
// durable, as one whose answer follows, and people see that somebody thinks about it.
//
// CCP1  acknowledged with type 5 is whatever is authentic and asks for an answer, also what nobody takes: people are told so.
// CCP2  a ping, a question for completions and a press that opens a form are answered at once; nothing is kept of them.
// CCP3  a press that decides about an approval is acknowledged with type 6: the message stays as it is until it says what came of it.

import type { CommunityChatTrigger } from '../../../config/resources/triggers/trigger.ts';
import { isControlCall } from '../../events/built-in-commands.ts';
import type { Refusal } from '../../identity/principal.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { textMember } from '../payloads/payload-member.ts';
import { refusal } from '../webhooks/verified-subscribers.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { SIGNATURE, skewMsOf, TIMESTAMP } from './ed25519-verifier.ts';
import { interactionEvent, saidIn } from './event.ts';
import { formFor } from './form.ts';
import { AUTOCOMPLETE, credentialOf, decisionOf, PING } from './interaction.ts';
import type { InteractionTokens } from './interaction-tokens.ts';
import { matchNow } from './who-may.ts';

export type CommunityChatSubscriber = WebhookSubscriber<CommunityChatTrigger>;

/** Numbers of the platform. */
const pong: WebhookReply = { status: 200, body: { type: 1 } };
const answerFollows: WebhookReply = { status: 200, body: { type: 5 } };
const taken: WebhookReply = { status: 200, body: { type: 6 } };
const MODAL = 9;
const noCompletions: WebhookReply = { status: 200, body: { type: 8, data: { choices: [] } } };

export function communityChatPath(
  maxBodyBytes: number,
  tokens: InteractionTokens,
): PathUse<CommunityChatSubscriber> {
  const unauthorised = `${SIGNATURE} or ${TIMESTAMP} is missing, or fits no public_key of this path`;
  return {
    maxBodyBytes,
    unauthorised,
    async receive({ subscribers: all, principal }, request, body) {
      const subscribers = timelyOf(all, request);
      if (subscribers === undefined) return refusal(request, unauthorised, tooFar);
      const payload = jsonObjectIn(body);
      if (typeof payload?.type !== 'number') return malformed('the body is no interaction');
      if (payload.type === PING) return pong;
      if (payload.type === AUTOCOMPLETE) return noCompletions;
      const credential = credentialOf(payload);
      if (credential === undefined) return malformed('the interaction has no id, or no token');
      const ofApplication = subscribersOf(subscribers, textMember(payload, 'application_id'));
      const [{ trigger, host }] = ofApplication;
      const account = trigger.config.application_id;
      const triggers = ofApplication.map((each) => each.trigger);
      const from = {
        account,
        triggers: namesOf(ofApplication),
        principal,
        trace: request.traceparent,
      };
      if (decisionOf(payload) !== undefined) {
        await host.accept(interactionEvent({ ...from, isControl: true }, payload));
        return taken;
      }
      const form = formFor(triggers, payload);
      if (form !== undefined) return { status: 200, body: { type: MODAL, data: form } };
      await tokens.keep(account, credential.id, credential.token);
      const isControl = isControlOf(payload, triggers);
      await host.accept(interactionEvent({ ...from, isControl }, payload));
      return answerFollows;
    },
  };
}

type Subscribers = readonly [CommunityChatSubscriber, ...CommunityChatSubscriber[]];

const tooFar: Refusal = {
  refused: 'wrong',
  why: `${TIMESTAMP} is too far from the time here; are both clocks right?`,
};

/** Those for which it is not too old. */
function timelyOf(all: Subscribers, request: WebhookRequest): Subscribers | undefined {
  const skewMs = skewMsOf(request);
  const [first, ...others] = all.filter(({ trigger }) => skewMs <= trigger.config.max_skew_seconds * 1000);
  return first === undefined ? undefined : [first, ...others];
}

/** A key is that of one application: where its id is written otherwise in the files, theirs counts. */
function subscribersOf(all: Subscribers, application: string | undefined): Subscribers {
  const isOf = (id: string) => all.filter(({ trigger }) => trigger.config.application_id === id);
  const [first, ...others] = isOf(application ?? all[0].trigger.config.application_id);
  if (first !== undefined) return [first, ...others];
  const [same, ...rest] = isOf(all[0].trigger.config.application_id);
  return [same ?? all[0], ...rest];
}

/** A built-in command that asks no agent, unless a trigger that takes it has a command of that name. */
function isControlOf(payload: unknown, triggers: readonly CommunityChatTrigger[]): boolean {
  const said = saidIn(payload);
  const [name = ''] = said.names;
  if (said.isChoice === true || !isControlCall(name, said.parameters)) return false;
  return matchNow(triggers, said)?.binding === undefined;
}

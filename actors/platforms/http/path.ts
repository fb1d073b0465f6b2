// Handles requests to a path of HTTP triggers. For the order of the checks see webhooks/webhook.ts.
//
// Responds once the event is durable: 202 for a new event, 200 for a duplicate. With `respond: sync` it
// blocks until the handler has finished, up to respond_timeout_seconds: 200 with the answer; 202 after the
// timeout, or if the delivery is parked (it needs a person, such as an approver); 502 if the delivery is
// dead.

import { isUtf8 } from 'node:buffer';
import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { DeliveryOutcome } from '../../events/inbox/delivery-outcome.ts';
import { canonicalSignature } from '../webhooks/hub-signature.ts';
import { SeenBodies, type SignedRequest } from '../webhooks/replay-guard.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { acceptanceReply, malformed } from '../webhooks/webhook-replies.ts';
import type { PathHandler, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { type DeliveryId, deliveryId, httpEvent, httpEventId, httpPaths, selectTrigger } from './event.ts';
import { parseBody } from './payload.ts';
import type { HttpVerifier } from './verifier.ts';

export interface HttpSubscriber extends WebhookSubscriber<HttpTrigger> {
  readonly verifier: HttpVerifier;
}

export function httpPath(maxBodyBytes: number): PathHandler<HttpSubscriber> {
  const seen = new SeenBodies();
  return {
    maxBodyBytes,
    unauthorisedText: 'the credentials are missing or do not match a trigger of this path',
    async receive({ subscribers, principal }, request, body) {
      if (!isUtf8(body)) return { status: 415, body: NOT_UTF8 };
      const [first, ...others] = subscribers;
      const triggers = [first.trigger, ...others.map(({ trigger }) => trigger)] as const;
      const parsed = await parseBody(request, body, httpPaths(triggers));
      if (parsed === undefined) return malformed(NO_JSON);
      const isProven =
        request.isBodyExact || parsed.kind === 'json' || first.verifier.isSigned || others.some(isSigned);
      if (!isProven) return { status: 411, body: LENGTH_REQUIRED };
      const delivery = deliveryId(request);
      if (delivery === undefined)
        return malformed(
          'webhook-id, svix-id and Idempotency-Key must be 1 to 255 printable ASCII characters',
        );
      const selected = selectTrigger(triggers, parsed);
      const id = seen.eventIdOf(signedRequest(selected, request, delivery));
      const event = httpEvent(triggers, selected, request, parsed, { id, principal });
      const { host } = subscribers.find(({ trigger }) => trigger === selected) ?? first;
      const { respond, respond_timeout_seconds } = selected.config;
      const waitMs = respond === 'sync' ? respond_timeout_seconds * 1000 : 0;
      const waiting = waitMs > 0 ? new AbortController() : undefined;
      // Called before `accept`, because the delivery may finish before `accept` returns.
      const settled =
        waiting && withoutRejection(host.waitUntilSettled(selected.name, id, waitMs, waiting.signal));
      try {
        const reply = acceptanceReply(await host.accept(event));
        return settled === undefined || reply.status === 200 ? reply : syncReply(id, await settled);
      } finally {
        // A refused or duplicate event may never settle; this frees its waiter.
        waiting?.abort();
      }
    },
  };
}

/** Identifies a request of scheme hub, whose signature covers neither id nor time, to detect replays. */
function signedRequest(
  trigger: HttpTrigger,
  { headers }: WebhookRequest,
  delivery: DeliveryId,
): SignedRequest {
  const { config } = trigger;
  const isHub = config.scheme === 'hub' && config.webhook_secret !== undefined;
  return {
    path: `${config.port ?? ''}${config.path}`,
    signature: canonicalSignature(headers[config.signature_header]),
    id: httpEventId(trigger, delivery),
    isNamed: delivery.isNamed,
    windowMs: isHub ? config.replay_window_seconds * 1000 : 0,
  };
}

/** A truncated body that is JSON or signed would be detected; other text would not. */
const LENGTH_REQUIRED =
  'send Content-Length instead of chunks: uWebSockets.js parses chunks too loosely for an unsigned body that is not JSON';

const NOT_UTF8 =
  'the body is not UTF-8; send UTF-8, or the character set in Content-Type, such as text/plain; charset=iso-8859-1';

const NO_JSON =
  'the content type is JSON, but the body is not, or it is large and nested deeper than 256 levels';

function isSigned({ verifier }: HttpSubscriber): boolean {
  return verifier.isSigned;
}

/** Treats a rejection as a timeout, which also avoids an unhandled rejection. */
function withoutRejection(wait: Promise<DeliveryOutcome | undefined>): Promise<DeliveryOutcome | undefined> {
  return wait.catch(() => undefined);
}

function syncReply(id: string, settled: DeliveryOutcome | undefined): WebhookReply {
  if (settled === undefined) return answer(202, id, 'accepted');
  const { state, answer: text, note, waitingFor = '', until } = settled;
  if (state === 'done') return answer(200, id, state, { answer: text ?? '' });
  const noteMember = note === undefined ? {} : { note };
  if (state === 'waiting') {
    const untilMember = until === undefined ? {} : { until: new Date(until).toISOString() };
    return answer(202, id, state, { waiting_for: waitingFor, ...untilMember, ...noteMember });
  }
  const answerMember = text === undefined ? {} : { answer: text };
  return answer(state === 'dead' ? 502 : 200, id, state, { ...noteMember, ...answerMember });
}

function answer(
  status: number,
  id: string,
  state: string,
  more: Readonly<Record<string, string>> = {},
): WebhookReply {
  return { status, body: { id, status: state, ...more } };
}

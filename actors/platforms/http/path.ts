// What a path of type HTTP takes. See actors/platforms/webhooks/webhook.ts for the order of the checks.
//
// A request is answered when its event is durable: 202 for a new one, 200 for one that is known. With `respond: sync` the
// answer waits for the handler, no longer than respond_timeout_seconds: 200 with its answer, 202 when it takes longer or the
// delivery parks, 502 when it is dead.

import type { HttpTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Settled } from '../../events/inbox/settled.ts';
import { SeenBodies, type SignedRequest } from '../webhooks/seen-bodies.ts';
import type { WebhookReply, WebhookRequest } from '../webhooks/webhook.ts';
import { malformed, takenReply } from '../webhooks/webhook-replies.ts';
import type { PathUse, WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { deliveryId, httpEvent, httpPaths, takerOf } from './event.ts';
import { saidBy } from './payload.ts';
import type { HttpVerifier } from './verifier.ts';

export interface HttpSubscriber extends WebhookSubscriber<HttpTrigger> {
  readonly verifier: HttpVerifier;
}

export function httpPath(maxBodyBytes: number): PathUse<HttpSubscriber> {
  const seen = new SeenBodies();
  return {
    maxBodyBytes,
    unauthorised: 'the credentials of this request are missing, or fit no trigger of this path',
    async receive({ subscribers, principal }, request, body) {
      const [first, ...others] = subscribers;
      const triggers = [first.trigger, ...others.map(({ trigger }) => trigger)] as const;
      const said = await saidBy(request, body, httpPaths(triggers));
      if (said === undefined) return malformed(NO_JSON);
      const isProven =
        request.isBodyExact || said.kind === 'json' || first.verifier.isSigned || others.some(isSigned);
      if (!isProven) return { status: 411, body: LENGTH_REQUIRED };
      const delivery = deliveryId(request);
      if (delivery === undefined)
        return malformed('webhook-id and Idempotency-Key are up to 255 printable ASCII characters');
      const taker = takerOf(triggers, said);
      const event = httpEvent(triggers, taker, request, said, { delivery, principal });
      const { respond, respond_timeout_seconds } = taker.config;
      const waitMs = respond === 'sync' ? respond_timeout_seconds * 1000 : 0;
      const waiting = waitMs > 0 ? new AbortController() : undefined;
      // Before the event is there: it might be over before we ask.
      const settled = waiting && quiet(first.host.settled(taker.name, event.id, waitMs, waiting.signal));
      try {
        const taken = await seen.takeOnce(signedRequest(taker, request, event.id), () =>
          first.host.accept(event),
        );
        const reply = takenReply(event.id, taken);
        return settled === undefined || reply.status === 200 ? reply : syncReply(event.id, await settled);
      } finally {
        // Of what was refused, or is known already, no end may come: the place of the wait is for others.
        waiting?.abort();
      }
    },
  };
}

/** Only scheme hub leaves the id unsigned; of what nobody has signed nothing is known. */
function signedRequest({ config }: HttpTrigger, { headers }: WebhookRequest, id: string): SignedRequest {
  const isHub = config.scheme === 'hub' && config.webhook_secret !== undefined;
  return {
    place: `${config.port ?? ''}${config.path}`,
    signature: headers[config.signature_header] ?? '',
    id,
    isNamed: headers['webhook-id'] !== undefined || headers['idempotency-key'] !== undefined,
    windowMs: isHub ? config.replay_window_seconds * 1000 : 0,
  };
}

/** JSON that was cut is none any more, and a signature would not fit; any other text says nothing about its end. */
const LENGTH_REQUIRED =
  'send Content-Length instead of chunks: uWebSockets.js reads chunks too loosely for a body that is neither signed nor JSON';

const NO_JSON =
  'the content type says JSON, and the body is none, or is large and nested deeper than 256 levels';

function isSigned({ verifier }: HttpSubscriber): boolean {
  return verifier.isSigned;
}

/** Nobody may be left to hear how a wait failed; it counts as one that took too long. */
function quiet(wait: Promise<Settled | undefined>): Promise<Settled | undefined> {
  return wait.catch(() => undefined);
}

function syncReply(id: string, settled: Settled | undefined): WebhookReply {
  if (settled === undefined) return answer(202, id, 'accepted');
  const { state, answer: text, note, waitingFor = '', until } = settled;
  if (state === 'done') return answer(200, id, state, { answer: text ?? '' });
  const noted = note === undefined ? {} : { note };
  if (state === 'waiting') {
    const end = until === undefined ? {} : { until: new Date(until).toISOString() };
    return answer(202, id, state, { waiting_for: waitingFor, ...end, ...noted });
  }
  const said = text === undefined ? {} : { answer: text };
  return answer(state === 'dead' ? 502 : 200, id, state, { ...noted, ...said });
}

function answer(
  status: number,
  id: string,
  state: string,
  more: Readonly<Record<string, string>> = {},
): WebhookReply {
  return { status, body: { id, status: state, ...more } };
}

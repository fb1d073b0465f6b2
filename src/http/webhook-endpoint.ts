// Serves requests at webhook paths. Key, Host and Origin are not checked as for API requests: senders
// have no key, and proxies change Host. The webhook itself verifies the signature of the raw bytes.

import type { Webhook, WebhookReply, WebhookRequest } from '../../actors/platforms/webhooks/webhook.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { reserveUnverified } from './body/unverified-body.ts';
import { bodyLengthOf } from './listener/framing.ts';
import type { BodyHandler, HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';

/** Handles a request to `hook`. Returns undefined after responding. `fail` responds with an error. */
export function handleWebhook(
  context: ExchangeContext,
  hook: Webhook,
  unverifiedBodies: BodyBudget,
  fail: (context: ExchangeContext, error: unknown) => void,
): BodyHandler | undefined {
  const { method, headers } = context.request;
  if (!hook.methods.has(method)) {
    const allow = [...hook.methods].join(', ');
    context.error(405, `${method} is not allowed here; allowed: ${allow}`, [['allow', allow]]);
    return undefined;
  }
  const bodyBytes = bodyLengthOf(headers);
  if (bodyBytes !== Number.POSITIVE_INFINITY && bodyBytes > hook.maxBodyBytes) {
    context.refuseBody('too_large', hook.maxBodyBytes);
    return undefined;
  }
  const request = new HookRequest(context, unverifiedBodies);
  const refusal = hook.admit(request);
  if (refusal !== undefined) {
    respond(context, refusal);
    return undefined;
  }
  context.reply.limitBody(unverifiedBodies);
  return (_, body) => {
    if (typeof body === 'string') context.refuseBody(body, hook.maxBodyBytes);
    else if (body.length > hook.maxBodyBytes) context.refuseBody('too_large', hook.maxBodyBytes);
    else
      hook.receive(request, body).then(
        (reply) => respond(context, reply),
        (error: unknown) => fail(context, error),
      );
  };
}

/** Request as the webhook sees it. Address and trace are determined on demand. */
class HookRequest implements WebhookRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: WebhookRequest['headers'];
  readonly isBodyExact: boolean;
  readonly requestId: string;
  readonly #context: ExchangeContext;
  readonly #unverifiedBodies: BodyBudget;

  constructor(context: ExchangeContext, unverifiedBodies: BodyBudget) {
    const { method, path, query, headers, isBodyExact } = context.request;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.isBodyExact = isBodyExact;
    this.requestId = context.requestId;
    this.#context = context;
    this.#unverifiedBodies = unverifiedBodies;
  }

  get remoteAddress(): string {
    return this.#context.request.remoteAddress;
  }

  get traceparent(): string {
    return this.#context.traceparent;
  }

  reserveBody(bytes: number): (() => void) | undefined {
    return reserveUnverified(this.#unverifiedBodies, this.#context.request, bytes);
  }
}

function respond(context: ExchangeContext, { status, headers = [], body }: WebhookReply): void {
  const more: HeaderList = headers;
  if (body === undefined) context.empty(status, more);
  else if (typeof body === 'string' && status >= 400) context.error(status, body, more);
  else if (typeof body === 'string')
    context.reply.send(status, context.headers(more, ['content-type', 'text/plain; charset=utf-8']), body);
  else context.json(status, body, more);
}

// Serves requests at the path of a webhook. They are not requests to the API: key, Host and Origin are not checked, since proxies
// rewrite them. The webhook itself verifies the signature over the raw bytes.

import type { Webhook, WebhookReply, WebhookRequest } from '../../actors/platforms/webhooks/webhook.ts';
import type { BodyBudget } from './body/body-budget.ts';
import { holdUnproven } from './body/unproven-body.ts';
import { announcedBytes } from './listener/framing.ts';
import type { BodyHandler, HeaderList } from './listener/seam.ts';
import type { ExchangeContext } from './mcp/exchange-context.ts';

/** The second step of a request to `hook`; undefined when it has been answered. `fail` answers what was thrown. */
export function webhook(
  context: ExchangeContext,
  hook: Webhook,
  unproven: BodyBudget,
  fail: (context: ExchangeContext, error: unknown) => void,
): BodyHandler | undefined {
  const { method, headers } = context.request;
  if (!hook.methods.has(method)) {
    const allow = [...hook.methods].join(', ');
    context.error(405, `${method} is not possible here; try ${allow}`, [['allow', allow]]);
    return undefined;
  }
  const announced = announcedBytes(headers);
  if (announced !== Number.POSITIVE_INFINITY && announced > hook.maxBodyBytes) {
    context.refuseBody('too_large', hook.maxBodyBytes);
    return undefined;
  }
  const request = new HookRequest(context, unproven);
  const refusal = hook.admit(request);
  if (refusal !== undefined) {
    answer(context, refusal);
    return undefined;
  }
  context.reply.limitBody(unproven);
  return (_, body) => {
    if (typeof body === 'string') context.refuseBody(body, hook.maxBodyBytes);
    else if (body.length > hook.maxBodyBytes) context.refuseBody('too_large', hook.maxBodyBytes);
    else
      hook.receive(request, body).then(
        (reply) => answer(context, reply),
        (error: unknown) => fail(context, error),
      );
  };
}

/** Address and trace are looked up when they are asked for. */
class HookRequest implements WebhookRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: WebhookRequest['headers'];
  readonly isBodyExact: boolean;
  readonly requestId: string;
  readonly #context: ExchangeContext;
  readonly #unproven: BodyBudget;

  constructor(context: ExchangeContext, unproven: BodyBudget) {
    const { method, path, query, headers, isBodyExact } = context.request;
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.isBodyExact = isBodyExact;
    this.requestId = context.requestId;
    this.#context = context;
    this.#unproven = unproven;
  }

  get remoteAddress(): string {
    return this.#context.request.remoteAddress;
  }

  get traceparent(): string {
    return this.#context.traceparent;
  }

  holdBody(bytes: number): (() => void) | undefined {
    return holdUnproven(this.#unproven, this.#context.request, bytes);
  }
}

function answer(context: ExchangeContext, { status, headers = [], body }: WebhookReply): void {
  const more: HeaderList = headers;
  if (body === undefined) context.empty(status, more);
  else if (typeof body === 'string' && status >= 400) context.error(status, body, more);
  else if (typeof body === 'string')
    context.reply.send(status, context.headers(more, ['content-type', 'text/plain; charset=utf-8']), body);
  else context.json(status, body, more);
}

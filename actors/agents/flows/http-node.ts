// HTTP node: sends one HTTP request. Repetitions, also after crashes, use the same `Idempotency-Key`.

import type { NodeWork } from '../../../config/resources/flows/flow.ts';
import { refusalOf } from '../../../libs/rest/address-check.ts';
import { checkedFetch } from '../../../libs/rest/checked-fetch.ts';
import { HttpApi } from '../../../libs/rest/http-api.ts';
import { MAX_DEPTH } from '../../../libs/rest/json-depth.ts';
import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { retryAfterMs } from '../../../libs/rest/retry-after.ts';
import { HandlerError } from '../handlers/handler.ts';
import { idempotencyHeader } from '../handlers/idempotency-header.ts';
import { evaluate, type NodeHost, type NodeResult, textIn, valueIn } from './node-host.ts';

type Http = Extract<NodeWork, { readonly type: 'HTTP' }>;

const MAX_ANSWER_BYTES = 262_144;

/** Rejects with a HandlerError, which is final for status 400 to 499 except 408, 409 and 429. */
export async function requestUrl(work: Http, host: NodeHost): Promise<NodeResult> {
  const { key, context, job } = host;
  const { method, body, timeout_seconds, allow_private } = work;
  const url = evaluate(() => work.url.render(host.values, host.budget));
  const headers = Object.fromEntries(
    Object.entries(work.headers).map(([name, text]) => [name, textIn(text, host)]),
  );
  try {
    const api = new HttpApi({
      baseUrl: url.origin,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      ...(allow_private ? {} : { fetch: checkedFetch(refusalOf) }),
    });
    const answer = await api.request({
      method,
      path: url.pathname + url.search,
      headers: { 'idempotency-key': idempotencyHeader(key), traceparent: job.trace, ...headers },
      ...(body === undefined ? {} : { json: valueIn(body, host) }),
      signal: context.signal,
      timeoutMs: Math.min(timeout_seconds * 1000, context.remainingMs),
    });
    if (answer.isOk && answer.isTooDeep)
      throw new HandlerError(`${url.host} answered JSON with more than ${MAX_DEPTH} levels`, {
        isFinal: true,
      });
    if (answer.isOk) return { output: { status: answer.status, body: answer.json ?? answer.text } };
    const isFinal = answer.status < 500 && ![408, 409, 429].includes(answer.status);
    throw new HandlerError(`${url.host} answered ${answer.status}`, {
      isFinal,
      retryAfterMs: retryAfterMs(answer.headers),
    });
  } catch (error) {
    if (error instanceof RequestFault)
      throw new HandlerError(
        error.kind === 'forbidden' ? `${error.message}; allow_private: true permits it` : error.message,
        { isFinal: error.kind === 'too-large' || error.kind === 'forbidden' },
      );
    // The request is invalid, e.g. by a header value.
    if (error instanceof TypeError) throw new HandlerError(error.message, { isFinal: true });
    throw error;
  }
}

// A `fetch` for urls from outside: it connects to checked addresses only.
//
// FET1  a request resolves the host name once, checks every address, and connects to a checked address, so DNS rebinding has no
//       effect.
// FET2  connections are not reused, and redirects are not followed.

import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import { destinationOf, type Refusal, RefusedError, type Resolve, resolveBySystem } from './destination.ts';
import { RequestFault } from './request-fault.ts';
import { endWhatIsOver } from './standstill.ts';

/** The part of `fetch` that `HttpApi` uses. */
export type Fetch = (url: URL, request: FetchRequest) => Promise<Response>;

export interface FetchRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | null;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/** Returns a `fetch` that rejects forbidden destinations with a RequestFault of kind `forbidden`. */
export function checkedFetch(refusal: Refusal, resolve: Resolve = resolveBySystem): Fetch {
  return async (url, request) => {
    const { hostname, protocol, port } = url;
    const usedPort = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
    try {
      const { lookup } = await unlessAborted(
        destinationOf(hostname, usedPort, refusal, resolve),
        request.signal,
      );
      endWhatIsOver();
      request.signal.throwIfAborted();
      return await exchange(url, request, lookup);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      throw new RequestFault(`no connection to ${url.host}: ${error.message}`, {
        kind: 'forbidden',
        mayHaveArrived: false,
      });
    }
  };
}

type Lookup = Awaited<ReturnType<typeof destinationOf>>['lookup'];

function exchange(
  url: URL,
  { method, headers, body, signal }: FetchRequest,
  lookup: Lookup,
): Promise<Response> {
  const start = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = start(url, {
      ...{ method, signal, lookup, agent: false },
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(headers) },
    });
    // The request is written once the connection stands, which can be late.
    request.on('socket', (socket) =>
      socket.once('connect', endWhatIsOver).once('secureConnect', endWhatIsOver),
    );
    request.on('response', (message) => resolve(responseOf(message)));
    request.on('error', reject);
    request.end(body ?? undefined);
  });
}

function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 0, headersDistinct } = message;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value);
  const hasBody = ![204, 205, 304].includes(status);
  if (!hasBody) message.resume();
  return new Response(hasBody ? (Readable.toWeb(message) as ReadableStream) : null, { status, headers });
}

/** Rejects on abort; the lookup itself continues. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

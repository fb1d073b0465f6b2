// `fetch` for untrusted URLs: connects to checked addresses only. The host name is resolved once, every
// address is checked, and the connection uses a checked address, which prevents DNS rebinding. Connections
// are not reused, and redirects are not followed.

import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import {
  type AddressCheck,
  destinationOf,
  RefusedError,
  type Resolve,
  resolveBySystem,
} from './destination.ts';
import { abortOverdueWork } from './process-suspension.ts';
import { RequestFault } from './request-fault.ts';

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
export function checkedFetch(refusal: AddressCheck, resolve: Resolve = resolveBySystem): Fetch {
  return async (url, request) => {
    try {
      const { lookup } = await unlessAborted(
        destinationOf(url.hostname, portOf(url), refusal, resolve),
        request.signal,
      );
      // Aborts the signal if its deadline passed during the lookup, for example while the process was
      // suspended.
      abortOverdueWork();
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

function portOf({ protocol, port }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

type CheckedLookup = Awaited<ReturnType<typeof destinationOf>>['lookup'];

function exchange(
  url: URL,
  { method, headers, body, signal }: FetchRequest,
  lookup: CheckedLookup,
): Promise<Response> {
  const start = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const request = start(url, {
      method,
      signal,
      lookup,
      agent: false,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(headers) },
    });
    // The connection may have taken long: check the deadline again before the request is written.
    request.on('socket', (socket) =>
      socket.once('connect', abortOverdueWork).once('secureConnect', abortOverdueWork),
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

// The fetch that Octokit is given: every request has a deadline, every answer a largest size, and a redirect is followed
// only within the host, since whoever follows one carries the token.
//
// 1. No request leaves for another origin than the first one. 2. A request that writes keeps its method and body, or is not
//    sent on. 3. A body is read while the deadline runs, and up to MAX_ANSWER_BYTES after decompression.
// 4. What is read is cleaned of the token before anybody else sees it.

import { ToolError } from '../tool-error.ts';
import { wasTaken, whatWasTaken } from './host-fault.ts';
import { type Clean, plainJson } from './redaction.ts';

export const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
const MAX_REDIRECTS = 3;

/** A fetch whose requests take `timeoutMs` at most, reading included, and whose texts are cleaned by `clean`. */
export function boundedFetch(timeoutMs: number, clean: Clean): typeof fetch {
  return async (input, init = {}) => {
    const { signal } = init;
    const timeout = AbortSignal.timeout(timeoutMs);
    const bounded: RequestInit = {
      ...init,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    };
    let url = new URL(String(input));
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(url, bounded);
      const target = targetOf(response, url);
      if (target === undefined) return await readWhole(response, clean, isWriting(init.method));
      await response.body?.cancel();
      if (redirects === MAX_REDIRECTS)
        throw new ToolError('The host sent this request in circles. Check owner and repo.');
      checkRedirect(response.status, init.method, url, target);
      url = target;
    }
  };
}

function targetOf({ status, headers }: Response, from: URL): URL | undefined {
  if (![301, 302, 303, 307, 308].includes(status)) return undefined;
  const location = headers.get('location');
  if (!location) return undefined;
  return URL.canParse(location, from.href) ? new URL(location, from) : undefined;
}

function isWriting(method: string | undefined): boolean {
  return method !== undefined && method !== 'GET' && method !== 'HEAD';
}

function checkRedirect(status: number, method: string | undefined, from: URL, target: URL): void {
  if (isWriting(method) && wasTaken(status)) throw new ToolError(whatWasTaken(status));
  if (target.origin !== from.origin || target.username !== '' || target.password !== '')
    throw new ToolError(
      'The host sent this request on to another host. It was not followed, since the token is for this one alone.',
    );
  const keepsMethod = status === 307 || status === 308;
  if (!keepsMethod && isWriting(method))
    throw new ToolError(
      'This repository has moved, and nothing was written. Ask for it with a reading tool to learn its new name, and call again with that.',
    );
}

async function readWhole(response: Response, clean: Clean, isWrite: boolean): Promise<Response> {
  const { status, statusText, headers, body } = response;
  if (body === null) return response;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES)
      throw new ToolError(
        `The host's answer is larger than ${MAX_ANSWER_BYTES / 1024 / 1024} MiB, which is more than this server reads. ${tooLargeAdvice(status, isWrite)}`,
      );
    chunks.push(chunk);
  }
  const isBare = status === 204 || status === 205 || status === 304;
  if (isBare) return new Response(null, { status, statusText, headers });
  // Bytes that are no text keep their value this way.
  const text = Buffer.concat(chunks).toString('latin1');
  const isJson = /json/i.test(headers.get('content-type') ?? '');
  const cleaned = clean(isJson ? plainJson(text) : text);
  return new Response(Buffer.from(cleaned, 'latin1'), { status, statusText, headers });
}

function tooLargeAdvice(status: number, isWrite: boolean): string {
  if (!isWrite) return 'Ask for less: a smaller page, or one file.';
  return wasTaken(status)
    ? whatWasTaken(status)
    : 'It is not known whether this was done: look before you call again.';
}

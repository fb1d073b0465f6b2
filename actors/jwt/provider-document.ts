// A JSON document of an identity provider (its keys, or what it says of itself), fetched within a deadline and a bound. The
// address is the operator's; no redirect is followed, so that nobody else comes to answer for the provider.

import { isLoopback } from '../../config/listen-addr.ts';

export interface DocumentBounds {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** Rejects with an error that names the host and what was wrong, and nothing of what it wrote. */
export async function providerDocument(
  url: URL,
  { timeoutMs, maxBytes }: DocumentBounds,
): Promise<Readonly<Record<string, unknown>>> {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    throw new Error(`${url.host} must be asked over https`);
  const signal = AbortSignal.timeout(timeoutMs);
  const bytes = await bytesOf(url, signal, maxBytes).catch((error: unknown) => {
    if (error instanceof DocumentError) throw error;
    const why = signal.aborted
      ? `gave no answer within ${timeoutMs} ms`
      : 'could not be reached, or broke off';
    throw new Error(`${url.host} ${why}`, { cause: error });
  });
  const document = parsed(bytes);
  if (document === undefined) throw new Error(`${url.host} answered with something that is no JSON object`);
  return document;
}

class DocumentError extends Error {}

async function bytesOf(url: URL, signal: AbortSignal, maxBytes: number): Promise<Buffer> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel();
    throw new DocumentError(`${url.host} answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new DocumentError(`${url.host} answered more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parsed(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

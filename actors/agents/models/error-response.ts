// Parses error responses of model providers: the requested pause, and a known reason. No other part of the
// body is used (ME1, model-errors.ts).

import { parseJson } from '../../../config/reader/json-text.ts';
import { retryAfterMs } from '../../../libs/rest/retry-after.ts';

/** Reasons that an operator can act on. */
const reasons: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'model_not_found',
  'not_found_error',
  'overloaded_error',
  'rate_limit_exceeded',
]);

/** Known messages of providers that have no error code for these reasons. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^Your credit balance is too low/, 'insufficient_quota'],
  [/^API key (?:not valid|expired)/, 'invalid_api_key'],
  [/prompt is too long|maximum context length|input token count .{0,40}exceeds/, 'context_length_exceeded'],
];

interface ErrorAnswer {
  readonly retryAfterMs: number | undefined;
  readonly reason: string | undefined;
}

/** Parses an error response; `body` may be incomplete. */
export function readErrorAnswer(headers: Headers, body: string): ErrorAnswer {
  const error = errorIn(body);
  const reason = [error?.code, error?.type, wordingOf(error?.message)].find((code) => reasons.has(code));
  return {
    retryAfterMs: millisecondsIn(headers) ?? retryAfterMs(headers) ?? retryDelayIn(error?.details),
    reason: reason as string | undefined,
  };
}

/** Returns the pause in `retry-after-ms`, which is exact; the standard header is rounded. */
function millisecondsIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after-ms') ?? '';
  return /^\d{1,8}(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) : undefined;
}

function wordingOf(message: unknown): string | undefined {
  if (typeof message !== 'string') return undefined;
  return wordings.find(([pattern]) => pattern.test(message.slice(0, 1_000)))?.[1];
}

interface ErrorMembers {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

function errorIn(body: string): ErrorMembers | undefined {
  try {
    const parsed = parseJson(body);
    const { error } = (Array.isArray(parsed) ? parsed[0] : parsed) as { readonly error?: unknown };
    return typeof error === 'object' && error !== null ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the pause in google.rpc.RetryInfo, e.g. `34s`, `0.5s`: Google sends no header with the pause. */
function retryDelayIn(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly ({ readonly retryDelay?: unknown } | null)[]) {
    const [, seconds] = /^(\d{1,5}(?:\.\d{1,9})?)s$/.exec(String(detail?.retryDelay)) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}

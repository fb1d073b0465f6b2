// What is read of a refusal beside its status: for how long to stay away, and why, where that is one of the words known here.
// Nothing else of its body goes on (ME1).

import { retryAfterMs } from '../../../libs/rest/retry-after.ts';

/** What an operator can do something about. */
const reasons: ReadonlySet<unknown> = new Set([
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'model_not_found',
  'not_found_error',
  'overloaded_error',
  'rate_limit_exceeded',
]);

/** Words for the same by those who have no code for it, at the beginning of what they say or in it. */
const wordings: readonly (readonly [RegExp, string])[] = [
  [/^Your credit balance is too low/, 'insufficient_quota'],
  [/^API key (?:not valid|expired)/, 'invalid_api_key'],
  [/prompt is too long|maximum context length|input token count .{0,40}exceeds/, 'context_length_exceeded'],
];

interface ErrorAnswer {
  readonly retryAfterMs: number | undefined;
  readonly reason: string | undefined;
}

/** `body` is what came of it, perhaps not all. */
export function readErrorAnswer(headers: Headers, body: string): ErrorAnswer {
  const error = errorIn(body);
  const reason = [error?.code, error?.type, wordingOf(error?.message)].find((word) => reasons.has(word));
  return {
    retryAfterMs: millisecondsIn(headers) ?? retryAfterMs(headers) ?? retryDelayIn(error?.details),
    reason: reason as string | undefined,
  };
}

/** `retry-after-ms` is exact where the standard header is rounded. */
function millisecondsIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after-ms') ?? '';
  return /^\d{1,8}(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) : undefined;
}

function wordingOf(message: unknown): string | undefined {
  if (typeof message !== 'string') return undefined;
  return wordings.find(([said]) => said.test(message.slice(0, 1_000)))?.[1];
}

interface WrittenError {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly details?: unknown;
}

function errorIn(body: string): WrittenError | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    const { error } = (Array.isArray(parsed) ? parsed[0] : parsed) as { readonly error?: unknown };
    return typeof error === 'object' && error !== null ? error : undefined;
  } catch {
    return undefined;
  }
}

/** google.rpc.RetryInfo: `34s`, `0.5s`. Google names the pause there and in no header. */
function retryDelayIn(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as readonly ({ readonly retryDelay?: unknown } | null)[]) {
    const [, seconds] = /^(\d{1,5}(?:\.\d{1,9})?)s$/.exec(String(detail?.retryDelay)) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}

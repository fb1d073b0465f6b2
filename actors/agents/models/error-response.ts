// Parses error responses of model providers: the requested pause, a known reason, and the tool whose
// definition was refused. No other part of the body is used (invariant ME1, model-errors.ts).

import { parseJson } from '../../../config/reader/json-text.ts';
import { retryAfterMs } from '../../../libs/rest/retry-after.ts';

/** Reasons that an operator can act on. */
const reasons: ReadonlySet<unknown> = new Set([
  'budget_exceeded',
  'context_length_exceeded',
  'insufficient_quota',
  'invalid_api_key',
  'invalid_model',
  'model_not_found',
  'no_db_connection',
  'not_found_error',
  'overloaded_error',
  'rate_limit_exceeded',
]);

/**
 * Known messages of providers that have no error code for these reasons. A proxy puts its path, or the
 * exception of the provider, before the message.
 */
const reasonsByMessage: readonly (readonly [RegExp, string])[] = [
  [/^Your credit balance is too low/, 'insufficient_quota'],
  [/(?:^|- )Budget has been exceeded!/, 'budget_exceeded'],
  [/^API key (?:not valid|expired)|(?:^|- )Incorrect API key provided/, 'invalid_api_key'],
  [/prompt is too long|maximum context length|input token count .{0,40}exceeds/, 'context_length_exceeded'],
  [/(?:^|: |: ')Invalid model name passed in|(?:^|- )Invalid model '/, 'model_not_found'],
  [/^\S{1,200} is not a valid model ID$|^Model Not Exist$|^LLM Provider NOT provided/, 'model_not_found'],
];

/** A refused tool in messages and in `param`: its index in the request, or its name. */
const toolIndex = [/\bfunction_?declarations[.[](\d{1,4})\b/i, /\btools[.[](\d{1,4})\b/];
const toolName = /\b(?:function|tool) ['"`]([^'"`]{1,128})['"`]/;

interface ErrorAnswer {
  readonly retryAfterMs: number | undefined;
  readonly reason: string | undefined;
  /** Tool of the request whose definition was refused. */
  readonly tool: string | undefined;
}

/** Parses an error response; `body` may be incomplete. `tools` are the names of the tools in the request. */
export function readErrorAnswer(headers: Headers, body: string, tools: readonly string[] = []): ErrorAnswer {
  const error = errorIn(body);
  const message = messageOf(error);
  const reason = [error?.code, error?.type, reasonOfMessage(message)].find((code) => reasons.has(code));
  return {
    retryAfterMs: millisecondsIn(headers) ?? retryAfterMs(headers) ?? retryDelayIn(error?.details),
    reason: reason as string | undefined,
    tool: toolIn(`${String(error?.param ?? '').slice(0, 200)}\n${message}`, tools),
  };
}

/** Returns the pause in `retry-after-ms`, which is exact; the standard header is rounded. */
function millisecondsIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after-ms') ?? '';
  return /^\d{1,8}(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) : undefined;
}

function reasonOfMessage(message: string): string | undefined {
  return reasonsByMessage.find(([pattern]) => pattern.test(message))?.[1];
}

function toolIn(text: string, tools: readonly string[]): string | undefined {
  const name = toolName.exec(text)?.[1];
  if (name !== undefined && tools.includes(name)) return name;
  const index = toolIndex.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined);
  return index === undefined ? undefined : tools[Number(index)];
}

interface ErrorMembers {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly param?: unknown;
  readonly details?: unknown;
}

/** Returns the error object. Some providers send its members without an object, or only a text. */
function errorIn(body: string): ErrorMembers | undefined {
  try {
    const parsed = parseJson(body);
    const answer = (Array.isArray(parsed) ? parsed[0] : parsed) as
      | (ErrorMembers & { error?: unknown })
      | null;
    if (typeof answer !== 'object' || answer === null) return undefined;
    const { error } = answer;
    if (typeof error === 'object' && error !== null) return error;
    return typeof error === 'string' ? { ...answer, message: error } : answer;
  } catch {
    return undefined;
  }
}

/** Returns the beginning of the message; a proxy may send it as the `error` of an object. */
function messageOf(error: ErrorMembers | undefined): string {
  const { message } = error ?? {};
  const text = (message as { readonly error?: unknown } | null | undefined)?.error ?? message;
  return typeof text === 'string' ? text.slice(0, 1_000) : '';
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

// Parses error responses of model providers: the requested pause, a known reason, the code, and the refused
// part of the request. Codes and paths are read only in a fixed form, and no other part of the body is used
// (invariant ME1, model-errors.ts).

import { parseJson } from '../../../config/reader/json-text.ts';
import { retryAfterMs } from '../../../libs/rest/retry-after.ts';
import { reasonOf } from './error-reasons.ts';
import { refusedField, refusedTool } from './refused-member.ts';

/** Words joined by `_`: `invalid_function_parameters`, `INVALID_ARGUMENT`. */
const plainCode = /^(?:[a-z]{2,20}(?:_[a-z]{2,20}){1,5}|[A-Z]{2,20}(?:_[A-Z]{2,20}){1,5})$/;

interface ErrorAnswer {
  readonly retryAfterMs: number | undefined;
  readonly reason: string | undefined;
  /** Code of the error, if it is a plain identifier. */
  readonly code: string | undefined;
  /** Path of the refused member of the request. */
  readonly field: string | undefined;
  /** Tool of the request whose definition was refused. */
  readonly tool: string | undefined;
  /** True if the message is about images. */
  readonly concernsImages: boolean;
}

/** Parses an error response; `body` may be incomplete. `tools` are the names of the tools in the request. */
export function readErrorAnswer(headers: Headers, body: string, tools: readonly string[] = []): ErrorAnswer {
  const error = errorIn(body);
  const message = messageOf(error);
  const codes = [error?.code, error?.type, error?.status];
  const param = typeof error?.param === 'string' ? error.param.slice(0, 200) : '';
  return {
    retryAfterMs: millisecondsIn(headers) ?? retryAfterMs(headers) ?? retryDelayIn(error?.details),
    reason: reasonOf(codes, message),
    code: codes.find((code): code is string => typeof code === 'string' && plainCode.test(code)),
    field: refusedField(param) ?? refusedField(message),
    tool: refusedTool(`${param}\n${message}`, tools),
    concernsImages: /\b(?:images?|image_url|multimodal|vision)\b/i.test(message),
  };
}

/** Returns the pause in `retry-after-ms`, which is exact; the standard header is rounded. */
function millisecondsIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after-ms') ?? '';
  return /^\d{1,8}(\.\d+)?$/.test(text) ? Math.ceil(Number(text)) : undefined;
}

interface ErrorMembers {
  readonly code?: unknown;
  readonly type?: unknown;
  readonly status?: unknown;
  readonly message?: unknown;
  readonly param?: unknown;
  readonly details?: unknown;
  readonly metadata?: unknown;
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

/**
 * Returns the beginning of the message. A proxy may send it as the `error` of an object, or the error of the
 * provider as text in `metadata.raw`.
 */
function messageOf(error: ErrorMembers | undefined): string {
  const { message, metadata } = error ?? {};
  const text = (message as { readonly error?: unknown } | null | undefined)?.error ?? message;
  const { raw } = (metadata ?? {}) as { readonly raw?: unknown };
  return [text, raw]
    .filter((part) => typeof part === 'string')
    .map((part) => part.slice(0, 1_000))
    .join('\n');
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

// What the codes of a platform mean, as a table that each adapter has, and how an answer of it becomes a DeliveryError. The
// text reads `131047 re-engagement message required: <what the platform wrote>`, so that a note can be searched for both.
//
// PF1  a code that the table has decides, whatever the HTTP status says; of others the status decides.
// PF2  who asks for a pause, or says that there was too much, is not refusing the message: it is sent later, and no attempt
//      is counted.

import { RequestFault } from '../../../libs/rest/request-fault.ts';
import { withoutSequences } from '../../base/errors/control-sequences.ts';
import { DeliveryError } from './delivery-error.ts';

export interface PlatformError {
  readonly meaning: string;
  /** `final`: trying again cannot help. `passing`: it may. `tooSoon`: it was not even tried, there was too much of it. */
  readonly is: 'final' | 'passing' | 'tooSoon';
}

/** By code: a number or a word of the platform's own. */
export type PlatformErrors = Readonly<Record<string, PlatformError>>;

export interface PlatformRefusal {
  /** Of HTTP. */
  readonly status: number;
  /** Of the platform, where its answer has one. */
  readonly code?: number | string | undefined;
  /** What it wrote; it is cut, and stands in notes. Nothing that repeats what it was sent. */
  readonly text?: string | undefined;
  /** Who was asked: the note names it where nothing in the answer is the platform's, as in the page of a proxy. */
  readonly host?: string | undefined;
  /** The pause it asks for. */
  readonly retryAfterMs?: number | undefined;
}

const MAX_TEXT = 300;

/** The error for a request that the platform has answered, and not carried out. */
export function platformFault(errors: PlatformErrors, refusal: PlatformRefusal): DeliveryError {
  const { status, code, text = '', host = '', retryAfterMs } = refusal;
  const platformCode = code ?? status;
  const known = code === undefined ? undefined : ownOf(errors, String(code));
  const isWordless = code === undefined && shown(text) === '';
  const isElse = isSuccess(status) || (isWordless && host !== '');
  const unnamed = isElse ? 'without an answer of the platform' : '';
  const unknown = code === undefined ? unnamed : `(HTTP ${status})`;
  const from = isWordless && host !== '' ? ` (from ${host})` : '';
  const is = known?.is ?? kindOf(status, retryAfterMs);
  return new DeliveryError(platformNote(errors, platformCode, text, unknown) + from, {
    platformCode,
    isFinal: is === 'final',
    isTooSoon: is !== 'final' && (is === 'tooSoon' || retryAfterMs !== undefined),
    retryAfterMs,
    // Whoever is in between may have given up before the platform did.
    isOutcomeUnknown: known === undefined && (isSuccess(status) || [500, 502, 504].includes(status)),
    isPlatformDown: is === 'passing' && (status >= 500 || (isSuccess(status) && code === undefined)),
  });
}

/** `unknown` is the meaning of a code that the table does not have. */
export function platformNote(
  errors: PlatformErrors,
  code: number | string,
  platformText = '',
  unknown = '',
): string {
  const meaning = ownOf(errors, String(code))?.meaning ?? unknown;
  const text = shown(platformText);
  const head = meaning === '' ? String(code) : `${code} ${meaning}`;
  return text === '' ? head : `${head}: ${text}`;
}

function kindOf(status: number, retryAfterMs: number | undefined): PlatformError['is'] {
  if (status === 429) return 'tooSoon';
  if (isSuccess(status) || status >= 500 || status === 408 || status === 425) return 'passing';
  return retryAfterMs === undefined ? 'final' : 'tooSoon';
}

/** Nobody refuses so: something else has answered in the platform's place. */
const isSuccess = (status: number) => status < 300;

/** On one line, and without what a terminal would obey. */
function shown(text: string): string {
  return withoutSequences(text.slice(0, 4 * MAX_TEXT))
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_TEXT);
}

/** What a request to `what` was rejected with: there is no answer. The text of a RequestFault has no secret in it. */
export function sendingFault(error: unknown, what: string): DeliveryError {
  if (error instanceof DeliveryError) return error;
  if (!(error instanceof RequestFault))
    return new DeliveryError(`${what} could not be sent`, { cause: error });
  const { kind, message, mayHaveArrived } = error;
  return new DeliveryError(`${message} (${what})`, {
    isFinal: kind === 'redirected' || kind === 'too-large',
    isOutcomeUnknown: mayHaveArrived,
    isPlatformDown: ['unreachable', 'insecure', 'broken', 'timeout'].includes(kind),
  });
}

function ownOf(errors: PlatformErrors, code: string): PlatformError | undefined {
  return Object.hasOwn(errors, code) ? errors[code] : undefined;
}

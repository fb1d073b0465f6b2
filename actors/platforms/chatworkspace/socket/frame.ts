// What comes on a socket of the platform, read: a greeting, the word that the socket is to end, or an envelope with something
// for us. What is none of these, or no JSON, is nothing, and never a fault.

import { isTooDeep } from '../../payloads/json-object.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';

export interface Envelope {
  /** By which it is acknowledged; another one each time that the platform sends the same again. */
  readonly id: string;
  /** `events_api`, `slash_commands`, `interactive`, or a kind that is unknown here; empty where none is said. */
  readonly type: string;
  readonly payload: unknown;
}

export type Frame =
  | { readonly kind: 'hello' }
  /** A word such as `refresh_requested`. */
  | { readonly kind: 'disconnect'; readonly reason: string }
  | { readonly kind: 'envelope'; readonly envelope: Envelope };

/** What the platform calls its reasons. Another text is not repeated: whoever reads our log should not read a stranger's. */
const WORD = /^[a-z][a-z0-9_]{0,63}$/;

export function frameOf(text: string): Frame | undefined {
  const value = parsed(text);
  const id = textMember(value, 'envelope_id');
  const type = textMember(value, 'type') ?? '';
  if (id !== undefined) {
    // It comes again until it is acknowledged: so it is an envelope, with nothing in it that could be kept.
    const payload = isTooDeep(text) ? undefined : memberOf(value, 'payload');
    return { kind: 'envelope', envelope: { id, type, payload } };
  }
  if (type === 'hello') return { kind: 'hello' };
  if (type !== 'disconnect') return undefined;
  const reason = textMember(value, 'reason') ?? '';
  return { kind: 'disconnect', reason: WORD.test(reason) ? reason : 'without a reason' };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

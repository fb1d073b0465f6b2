// Parses socket frames: a greeting, an announced disconnect, or an envelope with a payload. Other frames and
// invalid JSON are ignored.

import { isTooDeep } from '../../../../libs/rest/json-depth.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';

export interface SocketEnvelope {
  /** Id for the acknowledgement; different in each redelivery. */
  readonly id: string;
  /** `events_api`, `slash_commands`, `interactive`, or an unsupported kind; empty if missing. */
  readonly type: string;
  readonly payload: unknown;
}

export type SocketFrame =
  | { readonly kind: 'hello' }
  /** The reason is a code such as `refresh_requested`. */
  | { readonly kind: 'disconnect'; readonly reason: string }
  | { readonly kind: 'envelope'; readonly envelope: SocketEnvelope };

/** Syntax of reason codes. Other text is untrusted and not logged. */
const REASON_CODE = /^[a-z][a-z0-9_]{0,63}$/;

/** Returns undefined for a frame to ignore. */
export function parseFrame(text: string): SocketFrame | undefined {
  const value = parseJson(text);
  const id = textMember(value, 'envelope_id');
  const type = textMember(value, 'type') ?? '';
  if (id !== undefined) {
    // Only the payload is dropped if it is nested too deeply: without an acknowledgement the platform would
    // redeliver the envelope.
    const payload = isTooDeep(text) ? undefined : memberOf(value, 'payload');
    return { kind: 'envelope', envelope: { id, type, payload } };
  }
  if (type === 'hello') return { kind: 'hello' };
  if (type !== 'disconnect') return undefined;
  const reason = textMember(value, 'reason') ?? '';
  return { kind: 'disconnect', reason: REASON_CODE.test(reason) ? reason : 'no reason' };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

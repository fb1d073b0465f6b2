// Ids of the events on a session's streams (server-sent events): `<stream>-<number>`, unique within the
// session. In the response stream of a request they also contain the request id: a client that resumes this
// stream after the gateway has restarted receives an error for the request.

/** Maximum length of the request id in an event id. */
const MAX_REQUEST_CHARS = 64;
/** The last part is the request id in base64url: up to 86 characters for MAX_REQUEST_CHARS bytes. */
const pattern = /^(\d{1,15})-(\d{1,15})(?:-([\w-]{0,88}))?$/;

export interface EventId {
  readonly stream: number;
  readonly number: number;
  /**
   * JSON-RPC id of the request as raw JSON, in Latin-1: one character per byte. '' if it was too long,
   * undefined for the notification stream.
   */
  readonly rawRequestId: string | undefined;
}

/** Parses an event id; undefined if it is invalid. */
export function parseEventId(id: string): EventId | undefined {
  const match = pattern.exec(id);
  if (match === null) return undefined;
  const [, stream, number, request] = match;
  const rawRequestId = request && Buffer.from(request, 'base64url').toString('latin1');
  if (request && !isRawId(rawRequestId ?? '')) return undefined;
  return { stream: Number(stream), number: Number(number), rawRequestId };
}

/**
 * Returns true for a JSON string or number. Checked, because clients send event ids. JSON.parse alone would
 * also accept white space before the value.
 */
function isRawId(text: string): boolean {
  try {
    const id: unknown = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'));
    return (
      (typeof id === 'string' && text.startsWith('"')) || (typeof id === 'number' && /^[^\s]+$/.test(text))
    );
  } catch {
    return false;
  }
}

export function eventId({ stream, number, rawRequestId }: EventId): string {
  if (rawRequestId === undefined) return `${stream}-${number}`;
  const shortId = rawRequestId.length > MAX_REQUEST_CHARS ? '' : rawRequestId;
  return `${stream}-${number}-${Buffer.from(shortId, 'latin1').toString('base64url')}`;
}

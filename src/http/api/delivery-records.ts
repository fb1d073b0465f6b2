// Creates the API records of deliveries (delivery-shapes.ts). A delivery is an event with its processing
// state. Only GET /deliveries/:id contains the event's body.

import type { Delivery } from '../../../actors/store/delivery.ts';
import type { DeliveryBody, DeliveryDetails, DeliveryRecord, FailureRecord } from './delivery-shapes.ts';
import { isoTime } from './iso-time.ts';
import { fullView, type RecordView } from './record-view.ts';

const MAX_BODY_BYTES = 65_536;
/** Maximum length of bodies and answers in the brief view (record-view.ts). */
const MAX_TEXT = 20_000;

/**
 * Returns an entry for the delivery list. `started_at` is null before the first attempt: a node may have
 * claimed the delivery, which sets the start time, and released it again without an attempt.
 */
export function deliveryRecord(delivery: Delivery, view: RecordView = fullView): DeliveryRecord {
  const { receivedAt, endedAt, attempts } = delivery;
  const startedAt = attempts === 0 ? undefined : delivery.startedAt;
  return {
    // Not cut, because requests use the id.
    id: delivery.id,
    seq: delivery.seq,
    kind: delivery.kind,
    state: delivery.state,
    trigger: delivery.trigger ?? null,
    conversation: view.name(delivery.key),
    attempts,
    crashes: delivery.crashes,
    deferrals: delivery.deferrals,
    received_at: isoTime(receivedAt),
    started_at: isoTime(startedAt),
    ended_at: isoTime(endedAt),
    next_attempt_at: isoTime(delivery.retryAt),
    waiting_for: view.name(delivery.waitingFor),
    until: isoTime(delivery.until),
    duration_seconds: seconds(startedAt, endedAt),
    total_seconds: seconds(receivedAt, endedAt),
    trace: delivery.trace,
    note: view.note(delivery.note),
  };
}

/** Returns the record for `/deliveries/:id`. */
export function deliveryDetails(
  delivery: Delivery & { readonly meta: string; readonly body: Uint8Array },
  hasRun: boolean,
  view: RecordView = fullView,
): DeliveryDetails {
  return {
    ...deliveryRecord(delivery, view),
    principal: view.name(principalIn(delivery.meta)),
    answer: view.text(delivery.answer, MAX_TEXT),
    receipt: view.name(delivery.receipt),
    has_run: hasRun,
    failures: failureRecords(delivery, view),
    body: bodyOf(delivery.body, view),
  };
}

export function failureRecords(
  { failures }: Pick<Delivery, 'failures'>,
  view: RecordView,
): readonly FailureRecord[] {
  return failures.map(({ attempt, at, note }) => ({ attempt, at: isoTime(at), note: view.note(note) }));
}

/** Returns the sender from the event's metadata, which is JSON. */
function principalIn(meta: string): string | undefined {
  try {
    const { principal } = JSON.parse(meta) as { readonly principal?: unknown };
    return typeof principal === 'string' ? principal : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the first MAX_BODY_BYTES as text, or as Base64 if they are binary. The brief view omits Base64. */
function bodyOf(bytes: Uint8Array, view: RecordView): DeliveryBody {
  const returnedBytes = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, MAX_BODY_BYTES));
  const text = returnedBytes.toString('utf8');
  // The limit may split the last character, which then decodes to U+FFFD.
  const isText = !text.includes('\u0000') && !text.slice(0, -1).includes('\uFFFD');
  const isCut = returnedBytes.length < bytes.length;
  const isCutByView = view.isBrief && isText && text.length > MAX_TEXT;
  const about = { bytes: bytes.length, is_cut: isCut || isCutByView };
  if (isText) return { ...about, text: view.text(text, MAX_TEXT, isCut) };
  return view.isBrief ? about : { ...about, base64: returnedBytes.toString('base64') };
}

function seconds(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : Math.max(0, to - from) / 1000;
}

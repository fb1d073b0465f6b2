// Transfers arguments and results between the two threads. A large body is moved, not copied: its memory changes hands,
// and the array that was given is empty afterwards. A small one is cloned with the message, which is cheaper.
//
// MF1  memory that was moved once is never posted again as the empty thing it has become: that throws.
// MF2  of a body that is a view of something larger only the body is cloned; small buffers of Node are such views.

import { InternalError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import type { Arguments, Operation, Result } from '../ledger.ts';
import type { Committed, NewTimer, Turn, TurnResult } from '../store.ts';

/** From this size on bytes are moved. */
const MOVED_BYTES = 64 * 1024;
/** What the rest of an event weighs, roughly. */
const EVENT_BYTES = 512;

export interface Transfer<T> {
  readonly content: T;
  /** Memory that goes over to the other thread with it. */
  readonly moved: readonly ArrayBuffer[];
  /** What it weighs, roughly. */
  readonly bytes: number;
}

const movedBefore = new WeakSet<ArrayBufferLike>();
const nothingMoved: readonly ArrayBuffer[] = [];

/** Whether the body changes hands when the event is appended. */
export function isMoved({ body }: NewEvent): boolean {
  return body.byteLength >= MOVED_BYTES;
}

/** From now on this memory is the other thread's. */
export function handOver(moved: readonly ArrayBuffer[]): void {
  for (const memory of moved) movedBefore.add(memory);
}

/** Arguments as they are to be posted. Throws InternalError for a body that was moved by an earlier call. */
export function argumentsToPost<O extends Operation>(
  operation: O,
  args: Arguments<O>,
): Transfer<Arguments<O>> {
  if (operation === 'append') {
    const [events, claimMs] = args as Arguments<'append'>;
    const moved: ArrayBuffer[] = [];
    const content = [events.map((event) => eventToPost(event, moved)), claimMs] as unknown as Arguments<O>;
    return { content, moved, bytes: weightOf(events) };
  }
  if (operation === 'tick') {
    const [name, at, event] = args as Arguments<'tick'>;
    const moved: ArrayBuffer[] = [];
    const content = [name, at, eventToPost(event, moved)] as unknown as Arguments<O>;
    return { content, moved, bytes: weightOf([event]) };
  }
  if (operation === 'commit') {
    const [results] = args as Arguments<'commit'>;
    const content = [results.map(resultToPost)] as unknown as Arguments<O>;
    return {
      content,
      moved: nothingMoved,
      bytes: results.reduce((sum, result) => sum + weightOfResult(result), 0),
    };
  }
  if (operation === 'decide') {
    const [id, { state, decision, emit }] = args as Arguments<'decide'>;
    const content = [id, { state, decision, emit: emit.map(copiedEvent) }] as unknown as Arguments<O>;
    return { content, moved: nothingMoved, bytes: weightOf(emit) + decision.length };
  }
  if (operation === 'discard') {
    const [id, note, { emit = [], cancelTimers } = {}] = args as Arguments<'discard'>;
    const content = [id, note, { emit: emit.map(copiedEvent), cancelTimers }] as unknown as Arguments<O>;
    return { content, moved: nothingMoved, bytes: weightOf(emit) };
  }
  return { content: args, moved: nothingMoved, bytes: 0 };
}

/** Memory in a result that can be moved: bodies come from the driver, and lie in memory of their own. */
export function movableIn(operation: Operation, result: Result<Operation>): readonly ArrayBuffer[] {
  const moved: ArrayBuffer[] = [];
  if (operation === 'claim') for (const { event } of result as readonly Turn[]) addMovable(event.body, moved);
  else if (operation === 'commit') {
    for (const { next } of result as readonly Committed[])
      if (next !== undefined) addMovable(next.body, moved);
  } else if (operation === 'delivery' && result !== undefined)
    addMovable((result as NonNullable<Result<'delivery'>>).body, moved);
  return moved;
}

function eventToPost(event: NewEvent, moved: ArrayBuffer[]): NewEvent {
  const { body } = event;
  if (movedBefore.has(body.buffer))
    throw new InternalError('the body of an event was handed over to the store before');
  const own = isWhole(body) ? body : new Uint8Array(body);
  addMovable(own, moved);
  return posted(event, own);
}

/** Whoever commits may have to do it again after a refusal, so these bodies are copied whatever their size. */
function resultToPost(result: TurnResult): TurnResult {
  const posted = {
    key: result.key,
    fence: result.fence,
    seq: result.seq,
    outcome: result.outcome,
    retryInMs: result.retryInMs,
    wasClaimed: result.wasClaimed,
    heldBy: result.heldBy,
    trigger: result.trigger,
    note: result.note,
    answer: result.answer,
    receipt: result.receipt,
    snapshot: result.snapshot,
    emit: result.emit?.map(copiedEvent),
    timers: result.timers?.map(copiedTimer),
    cancelTimers: result.cancelTimers,
    isLast: result.isLast,
  };
  const { state, parkedOn, holdsKey, steps, run, asks } = result;
  const hasMore =
    result.outcome === 'checkpoint' ||
    result.outcome === 'parked' ||
    steps !== undefined ||
    run !== undefined;
  return hasMore ? { ...posted, state, parkedOn, holdsKey, steps, run, asks } : posted;
}

function copiedEvent(event: NewEvent): NewEvent {
  const { body } = event;
  return posted(event, isWhole(body) ? body : new Uint8Array(body));
}

/** Most events are inbound and wake nobody: of those nothing is said. */
function posted({ id, key, meta, trace, kind, wakes, isOnce }: NewEvent, body: Uint8Array): NewEvent {
  if (kind === undefined && wakes === undefined && isOnce === undefined)
    return { id, key, meta, body, trace };
  return { id, key, meta, body, trace, kind, wakes, isOnce };
}

function copiedTimer({ id, inMs, event }: NewTimer): NewTimer {
  return { id, inMs, event: copiedEvent(event) };
}

function isWhole({ buffer, byteLength }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
}

function addMovable({ buffer, byteLength }: Uint8Array, moved: ArrayBuffer[]): void {
  if (byteLength < MOVED_BYTES || !(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength)
    return;
  if (!moved.includes(buffer)) moved.push(buffer);
}

function weightOf(events: readonly NewEvent[]): number {
  let bytes = 0;
  for (const { body } of events) bytes += body.byteLength + EVENT_BYTES;
  return bytes;
}

function weightOfResult({ emit, timers, snapshot, state, steps, run, asks }: TurnResult): number {
  const timed = timers === undefined ? 0 : weightOf(timers.map(({ event }) => event));
  let kept = (snapshot?.length ?? 0) + (state?.length ?? 0) + (run?.figures.length ?? 0);
  for (const text of steps ?? []) kept += text.length;
  for (const { body } of asks ?? []) kept += body.length;
  return (emit === undefined ? 0 : weightOf(emit)) + timed + kept;
}

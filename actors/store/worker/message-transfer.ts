// Prepares the arguments and results of store calls for posting between the main thread and the worker
// thread. Large bodies are transferred without copying, so the caller's array is empty afterwards; small
// bodies are cloned, which is cheaper. If a body was already transferred, posting it throws. A body that is a
// view of a larger buffer, such as a small Node.js buffer, is copied first, to post only its bytes.

import { InternalError } from '../../base/errors/errors.ts';
import type { NewEvent } from '../event.ts';
import type { Committed, NewTimer, Turn, TurnResult } from '../store.ts';
import type { OperationArguments, OperationResult, StoreOperation } from '../sync-store.ts';

/** Minimum size of transferred bodies. */
const TRANSFER_MIN_BYTES = 64 * 1024;
/** Approximate size of an event without its body. */
const EVENT_BYTES = 512;

export interface Transfer<T> {
  readonly content: T;
  /** Memory to transfer with the message. */
  readonly transferList: readonly ArrayBuffer[];
  /** Approximate size. */
  readonly bytes: number;
}

const transferredMemory = new WeakSet<ArrayBufferLike>();
const noTransfer: readonly ArrayBuffer[] = [];

/** Returns true if `append` transfers the body. */
export function isTransferred({ body }: NewEvent): boolean {
  return body.byteLength >= TRANSFER_MIN_BYTES;
}

/** Marks memory as transferred. */
export function markTransferred(moved: readonly ArrayBuffer[]): void {
  for (const memory of moved) transferredMemory.add(memory);
}

/** Returns the arguments to post. Throws InternalError for an already transferred body. */
export function argumentsToPost<O extends StoreOperation>(
  operation: O,
  args: OperationArguments<O>,
): Transfer<OperationArguments<O>> {
  if (operation === 'append') {
    const [events, claimMs] = args as OperationArguments<'append'>;
    const moved: ArrayBuffer[] = [];
    const content = [
      events.map((event) => eventToPost(event, moved)),
      claimMs,
    ] as unknown as OperationArguments<O>;
    return { content, transferList: moved, bytes: weightOf(events) };
  }
  if (operation === 'tick') {
    const [name, at, event] = args as OperationArguments<'tick'>;
    const moved: ArrayBuffer[] = [];
    const content = [name, at, eventToPost(event, moved)] as unknown as OperationArguments<O>;
    return { content, transferList: moved, bytes: weightOf([event]) };
  }
  if (operation === 'commit') {
    const [results] = args as OperationArguments<'commit'>;
    const content = [results.map(resultToPost)] as unknown as OperationArguments<O>;
    return {
      content,
      transferList: noTransfer,
      bytes: results.reduce((sum, result) => sum + weightOfResult(result), 0),
    };
  }
  if (operation === 'decide') {
    const [id, { state, decision, emit }] = args as OperationArguments<'decide'>;
    const content = [id, { state, decision, emit: emit.map(copyEvent) }] as unknown as OperationArguments<O>;
    return { content, transferList: noTransfer, bytes: weightOf(emit) + decision.length };
  }
  if (operation === 'discard') {
    const [id, note, { emit = [], cancelTimers } = {}] = args as OperationArguments<'discard'>;
    const content = [
      id,
      note,
      { emit: emit.map(copyEvent), cancelTimers },
    ] as unknown as OperationArguments<O>;
    return { content, transferList: noTransfer, bytes: weightOf(emit) };
  }
  return { content: args, transferList: noTransfer, bytes: 0 };
}

/** Returns the result's transferable memory. Bodies come from the driver and do not share memory. */
export function movableBuffers(
  operation: StoreOperation,
  result: OperationResult<StoreOperation>,
): readonly ArrayBuffer[] {
  const moved: ArrayBuffer[] = [];
  if (operation === 'claim') for (const { event } of result as readonly Turn[]) addMovable(event.body, moved);
  else if (operation === 'commit') {
    for (const { next } of result as readonly Committed[])
      if (next !== undefined) addMovable(next.body, moved);
  } else if (operation === 'delivery' && result !== undefined)
    addMovable((result as NonNullable<OperationResult<'delivery'>>).body, moved);
  return moved;
}

function eventToPost(event: NewEvent, moved: ArrayBuffer[]): NewEvent {
  const { body } = event;
  if (transferredMemory.has(body.buffer)) throw new InternalError('event body was already transferred');
  const own = ownsBuffer(body) ? body : new Uint8Array(body);
  addMovable(own, moved);
  return posted(event, own);
}

/** Copies bodies of any size, because the caller may repeat a rejected commit. */
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
    emit: result.emit?.map(copyEvent),
    timers: result.timers?.map(copyTimer),
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

function copyEvent(event: NewEvent): NewEvent {
  const { body } = event;
  return posted(event, ownsBuffer(body) ? body : new Uint8Array(body));
}

/** Omits undefined members, which most events have. */
function posted({ id, key, meta, trace, kind, wakes, isOnce }: NewEvent, body: Uint8Array): NewEvent {
  if (kind === undefined && wakes === undefined && isOnce === undefined)
    return { id, key, meta, body, trace };
  return { id, key, meta, body, trace, kind, wakes, isOnce };
}

function copyTimer({ id, inMs, event }: NewTimer): NewTimer {
  return { id, inMs, event: copyEvent(event) };
}

function ownsBuffer({ buffer, byteLength }: Uint8Array): boolean {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
}

function addMovable({ buffer, byteLength }: Uint8Array, moved: ArrayBuffer[]): void {
  if (byteLength < TRANSFER_MIN_BYTES || !(buffer instanceof ArrayBuffer) || buffer.byteLength !== byteLength)
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

// `SyncStore`: the operations of a Store as synchronous calls inside a transaction. The embedded engine
// implements it (sqlite/engine.ts). The worker thread calls it by operation name, many calls per transaction.
// All calls within a transaction share a timestamp. A call that throws a GatewayError has written nothing.

import type { NewEvent } from './event.ts';
import type { AppendOutcome, Store, Turn } from './store.ts';

/**
 * Result of a sweep call, which deletes a small part of the expired rows so that other calls are not delayed.
 */
export interface SweptPart {
  readonly removed: number;
  /** Position of the next part; undefined for the last part. */
  readonly afterSeq: number | undefined;
}

/** Result of `append` for one event, without the event itself. */
export interface AppendResult {
  readonly outcome: AppendOutcome['outcome'];
  readonly state: AppendOutcome['state'];
  /** Claim of the event, if any. */
  readonly claimed?:
    | (Pick<Turn, 'fence' | 'snapshot'> & { readonly seq: number; readonly at: number })
    | undefined;
}

/** Store operations that only clusters have. */
type ClusterOperation = 'cluster' | 'statuses' | 'watchAccessKeys';
/** Operations of the calling thread. */
type ClockOperation = 'now' | 'steady';
/**
 * Operations with the same arguments and results as in Store. `append` and `sweep` differ, see SyncStore.
 * `deliveries` is a loop over `deliveryPage` outside of the transaction.
 */
type SameAsStore = Exclude<
  keyof Store,
  'append' | 'deliveries' | 'sweep' | 'wake' | 'close' | ClusterOperation | ClockOperation
>;

export type SyncStore = {
  readonly [M in SameAsStore]: (...args: Parameters<Store[M]>) => Awaited<ReturnType<Store[M]>>;
} & {
  /** Appends events. With `claimMs`, claims an event that arrives at an idle mailbox. */
  readonly append: (events: readonly NewEvent[], claimMs?: number) => readonly AppendResult[];
  /** Sweeps one part of the records, those after `afterSeq`. */
  readonly sweepPart: (afterSeq: number) => SweptPart;
};

export type StoreOperation = keyof SyncStore;
export type OperationArguments<O extends StoreOperation> = Parameters<SyncStore[O]>;
export type OperationResult<O extends StoreOperation> = ReturnType<SyncStore[O]>;

export interface StoreCall<O extends StoreOperation = StoreOperation> {
  readonly operation: O;
  readonly args: OperationArguments<O>;
}

// Messages between the store in the main thread and its worker thread. Calls are posted in groups, and the
// results return in the same order, so calls need no ids. Messages contain only cloneable values; an error is
// sent as code and message.

import type { Migration } from '../sqlite/schema.ts';
import type { OperationResult, StoreCall, StoreOperation } from '../sync-store.ts';

export interface WorkerSettings {
  readonly file: string;
  readonly retentionMs: number;
  readonly snapshotRetentionMs: number;
  readonly maxWaiting: number;
  readonly maxParked: number;
}

/** With `close`, the worker then closes the file and exits. */
export interface CallsMessage {
  readonly calls: readonly StoreCall[];
  readonly close: boolean;
}

export interface SentError {
  readonly code: string;
  readonly message: string;
  /** `full` for a StoreFullError, `record` for a StoreRecordError. */
  readonly kind?: 'full' | 'record' | undefined;
}

export type SentResult = { readonly result: OperationResult<StoreOperation> } | { readonly error: SentError };

export type WorkerMessage =
  /**
   * `damage` describes the damage of the write-ahead log; `clockShiftMs` is the recorded sum of the clock's
   * steps.
   */
  | {
      readonly kind: 'opened';
      readonly damage: string | undefined;
      readonly migration: Migration | undefined;
      readonly clockShiftMs?: number;
    }
  | { readonly kind: 'refused'; readonly error: SentError }
  /** `isWakeDue` is true if events can possibly be claimed. */
  | { readonly kind: 'answers'; readonly answers: readonly SentResult[]; readonly isWakeDue: boolean }
  /** `what` describes the damaged record. */
  | { readonly kind: 'damaged'; readonly what: string }
  | { readonly kind: 'wake' };

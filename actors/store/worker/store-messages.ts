// The messages between the store in the main thread and its worker. Calls are posted in groups and answered in order, so
// that no call needs a number. Messages hold only what can be cloned; errors are sent as their words.

import type { LedgerCall, Operation, Result } from '../ledger.ts';

export interface WorkerSettings {
  readonly file: string;
  readonly retentionMs: number;
  readonly rememberMs: number;
  readonly maxWaiting: number;
}

/** With `close` the worker closes the file after the calls, and ends. */
export interface CallsMessage {
  readonly calls: readonly LedgerCall[];
  readonly close: boolean;
}

export interface SentError {
  readonly code: string;
  readonly message: string;
  /** A StoreFullError. */
  readonly isFull?: boolean;
}

export type SentResult = { readonly result: Result<Operation> } | { readonly error: SentError };

export type WorkerMessage =
  /** `damage`: what the log was found to have lost, in words. */
  | { readonly kind: 'opened'; readonly damage: string | undefined }
  | { readonly kind: 'refused'; readonly error: SentError }
  | { readonly kind: 'answers'; readonly answers: readonly SentResult[]; readonly isNews: boolean }
  /** Something in a record, in words. */
  | { readonly kind: 'damaged'; readonly what: string }
  | { readonly kind: 'wake' };

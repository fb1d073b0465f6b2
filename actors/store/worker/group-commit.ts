// Group commit in the worker thread: runs all pending calls in one transaction with one disk write, and
// returns the results after the commit, in call order. If the transaction fails, each half is retried
// separately, to isolate the failing call.

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import type { SqliteEngine } from '../sqlite/engine.ts';
import type { OperationResult, StoreCall, StoreOperation } from '../sync-store.ts';

export type StoreCallResult<O extends StoreOperation = StoreOperation> =
  | { readonly result: OperationResult<O> }
  | { readonly error: GatewayError };

/** Never throws. */
export function commitGroup(engine: SqliteEngine, calls: readonly StoreCall[]): readonly StoreCallResult[] {
  try {
    return engine.transaction(() => calls.map((call) => runCall(engine, call)));
  } catch (error) {
    const fault = engine.faultOf(error);
    // If the file is not writable at all, smaller groups fail as well.
    if (fault?.kind === 'file') return calls.map(() => ({ error: fault.error }));
    if (calls.length === 1) return [{ error: fault?.error ?? internalError(error, calls[0]?.operation) }];
    const half = calls.length >> 1;
    return [...commitGroup(engine, calls.slice(0, half)), ...commitGroup(engine, calls.slice(half))];
  }
}

function runCall<O extends StoreOperation>(
  engine: SqliteEngine,
  { operation, args }: StoreCall<O>,
): StoreCallResult<O> {
  try {
    // TypeScript loses the relation between an operation and its arguments over a union.
    const run = engine[operation].bind(engine) as (...values: readonly unknown[]) => unknown;
    return { result: run(...args) as OperationResult<O> };
  } catch (error) {
    if (error instanceof GatewayError) return { error };
    throw error;
  }
}

/** Omits the driver's message, which may contain the data to be written. */
function internalError(error: unknown, operation: StoreOperation | undefined): InternalError {
  const name = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : typeof error;
  return new InternalError(`store operation ${operation} failed: ${name}`, { cause: error });
}

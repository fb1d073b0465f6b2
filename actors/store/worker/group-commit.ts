// Group commit: the calls that have arrived run in one transaction, with one write to disk, and are answered after it.
// When the transaction fails each half is tried by itself, so that the one call that cannot succeed does not fail the
// others.
//
// GC1  an answer is given after the commit that makes it true.
// GC2  a call is answered once, in the order in which the calls came.

import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import type { LedgerCall, Operation, Result } from '../ledger.ts';
import type { SqliteEngine } from '../sqlite/engine.ts';

export type LedgerResult<O extends Operation = Operation> =
  | { readonly result: Result<O> }
  | { readonly error: GatewayError };

/** Runs the calls; never throws. */
export function commitTogether(engine: SqliteEngine, calls: readonly LedgerCall[]): readonly LedgerResult[] {
  try {
    return engine.transaction(() => calls.map((call) => answer(engine, call)));
  } catch (error) {
    const fault = engine.faultOf(error);
    // A file that cannot be written at all is not written by half as many calls.
    if (fault?.kind === 'file') return calls.map(() => ({ error: fault.error }));
    if (calls.length === 1) return [{ error: fault?.error ?? mistake(error, calls[0]?.operation) }];
    const half = calls.length >> 1;
    return [...commitTogether(engine, calls.slice(0, half)), ...commitTogether(engine, calls.slice(half))];
  }
}

function answer<O extends Operation>(
  engine: SqliteEngine,
  { operation, args }: LedgerCall<O>,
): LedgerResult<O> {
  try {
    // TypeScript loses the tie between a name and its arguments over a union of names.
    const run = engine[operation].bind(engine) as (...values: readonly unknown[]) => unknown;
    return { result: run(...args) as Result<O> };
  } catch (error) {
    if (error instanceof GatewayError) return { error };
    throw error;
  }
}

/** Says nothing of what was to be written: a message of the driver may. */
function mistake(error: unknown, operation: Operation | undefined): InternalError {
  const name = error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : typeof error;
  return new InternalError(`the store could not carry out ${operation}: ${name}`, { cause: error });
}

// What is known of the calls of a run that have no result yet: how often each was begun, who was asked about it, and what they said.

import type { JournalRow } from './journal.ts';

type Decided = Extract<JournalRow, { readonly kind: 'decided' }>;

export interface CallSoFar {
  /** How often it was begun: beyond 0 it may have happened. */
  readonly begun: number;
  /** The approval that was asked for since then. */
  readonly asked: string | undefined;
  /** How that was decided. */
  readonly decided: Decided | undefined;
}

const NOTHING: CallSoFar = { begun: 0, asked: undefined, decided: undefined };

/** By the ids of calls. Those without a word are not among them. */
export function callsSoFar(rows: readonly JournalRow[]): (id: string) => CallSoFar {
  const calls = new Map<string, CallSoFar>();
  const callOf = new Map<string, string>();
  const of = (id: string) => calls.get(id) ?? NOTHING;
  for (const row of rows) {
    if (row.kind === 'called') calls.set(row.id, { ...NOTHING, begun: of(row.id).begun + 1 });
    else if (row.kind === 'asked' && row.call !== undefined) {
      callOf.set(row.approval, row.call);
      calls.set(row.call, { ...of(row.call), asked: row.approval, decided: undefined });
    } else if (row.kind === 'decided') {
      const id = callOf.get(row.approval);
      // A permission is for what was asked last, and used up by the call.
      if (id !== undefined && of(id).asked === row.approval) calls.set(id, { ...of(id), decided: row });
    }
  }
  return of;
}

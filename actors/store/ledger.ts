// The part of a Store that runs inside a transaction, without waiting; an embedded engine fills it. The worker calls it
// by name, with many calls in one transaction; tests call it directly.
//
// LG1  time stands still within a transaction: all calls in it see the same now.
// LG2  a call that throws a GatewayError has written nothing.

import type { NewEvent } from './event.ts';
import type { Appended, Store, Turn } from './store.ts';

/** A part of what was asked for, so that no call holds up the others for long. */
export interface SweptPart {
  readonly removed: number;
  /** Where to go on; undefined at the end. */
  readonly afterSeq: number | undefined;
}

/** What `append` has to say of an event: whoever called has the event itself. */
export interface Entered {
  readonly outcome: Appended['outcome'];
  readonly state: Appended['state'];
  /** Of its turn, when it was claimed. */
  readonly claimed?:
    | (Pick<Turn, 'fence' | 'snapshot'> & { readonly seq: number; readonly at: number })
    | undefined;
}

/** The embedded engine has no other node beside it. */
type OfSeveralNodes = 'cluster' | 'standings' | 'now';
type SameAsStore = Exclude<
  keyof Store,
  'append' | 'deliveries' | 'sweep' | 'wake' | 'close' | OfSeveralNodes
>;

export type Ledger = {
  readonly [M in SameAsStore]: (...args: Parameters<Store[M]>) => Awaited<ReturnType<Store[M]>>;
} & {
  /** With `claimMs` what comes to a free mailbox is claimed for so long. */
  readonly append: (events: readonly NewEvent[], claimMs?: number) => readonly Entered[];
  /** One part of `sweep`, for records after `afterSeq`. */
  readonly sweepPart: (afterSeq: number) => SweptPart;
};

export type Operation = keyof Ledger;
export type Arguments<O extends Operation> = Parameters<Ledger[O]>;
export type Result<O extends Operation> = ReturnType<Ledger[O]>;

export interface LedgerCall<O extends Operation = Operation> {
  readonly operation: O;
  readonly args: Arguments<O>;
}

// What the journal of a flow says of its nodes. A node is named by its path: its id, and within a loop before it the loop with the number
// of its turn: `ship`, `poll#3/check`. Rows stand in files on disk: what is released keeps its meaning, and is only added to.

export type FlowRow =
  /** The work of the node begins, or begins again after `again`: from here on it may have happened. */
  | {
      readonly kind: 'entered';
      readonly in: string;
      /** Of a loop over a list: what each turn is about. */
      readonly items?: readonly unknown[] | undefined;
    }
  /** It has failed, and is tried again at that time, in epoch ms. */
  | { readonly kind: 'again'; readonly in: string; readonly reason: string; readonly until: number }
  /** It has nothing to do before that time, in epoch ms. */
  | { readonly kind: 'waits'; readonly in: string; readonly until: number }
  /** A turn of the loop begins, counted from 1. */
  | { readonly kind: 'turn'; readonly in: string; readonly n: number }
  /** It has come to its end, and of its connections these are taken, counted from 0 in the order of the file. */
  | {
      readonly kind: 'left';
      readonly in: string;
      readonly output: unknown;
      readonly taken: readonly number[];
      /** Of an `End`: the flow, or the turn of its loop, ends with it. */
      readonly isEnd?: boolean | undefined;
    }
  | { readonly kind: 'failed'; readonly in: string; readonly reason: string }
  /** The run had failed by this and goes on all the same: the node works on, as if it had not, and its attempts count from 1. */
  | { readonly kind: 'retried'; readonly in: string };

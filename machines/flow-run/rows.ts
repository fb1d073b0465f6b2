// Flow journal rows about nodes. `in` is the path of the node. Outside of loops it is the node's id: `ship`.
// Inside a loop it starts with the loop and the iteration number: `poll#3/check`. Rows are stored
// permanently, so released fields keep their meaning, and changes only add fields.

export type FlowRow =
  /** The node starts, or restarts after `again`; effects are possible from now on. */
  | {
      readonly kind: 'entered';
      readonly in: string;
      /** Items of the iterations, for a loop over a list. */
      readonly items?: readonly unknown[] | undefined;
    }
  /** The node has failed and is retried at `until`, in epoch milliseconds. */
  | { readonly kind: 'again'; readonly in: string; readonly reason: string; readonly until: number }
  /** When the node stops waiting, in epoch milliseconds. */
  | { readonly kind: 'waits'; readonly in: string; readonly until: number }
  /** A loop iteration starts, counted from 1. */
  | { readonly kind: 'turn'; readonly in: string; readonly n: number }
  /** The node has finished. `taken` are the indexes of the taken connections, from 0 in file order. */
  | {
      readonly kind: 'left';
      readonly in: string;
      readonly output: unknown;
      readonly taken: readonly number[];
      /** Set for an `End`: finishes the flow or the loop iteration. */
      readonly isEnd?: boolean | undefined;
    }
  | { readonly kind: 'failed'; readonly in: string; readonly reason: string }
  /** The failed run is retried: the node resumes, and its attempts count from 1. */
  | { readonly kind: 'retried'; readonly in: string };

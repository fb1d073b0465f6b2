// A decision as it comes from a chat: somebody pressed a button below our question, or put a mark on it.

export interface DecisionInbound {
  readonly verdict: 'approve' | 'deny';
  /** The approval that a button names; or what the platform calls the message that has the mark, as in its receipt. */
  readonly about: { readonly approval: string } | { readonly message: string };
}

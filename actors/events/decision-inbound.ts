// Approval decision from a chat: a pressed button below the approval request, or a reaction to it.

export interface DecisionInbound {
  readonly verdict: 'approve' | 'deny';
  /** Approval id from the button; or the platform's id of the approval request that has the reaction. */
  readonly about: { readonly approval: string } | { readonly message: string };
}

// What the journal of a fleet says of its members, by their names. Rows stand in files on disk: what is released keeps its meaning, and
// is only added to.

export type MemberRow =
  /** The member is asked: from here on it may have done something. */
  | { readonly kind: 'entered'; readonly in: string }
  | { readonly kind: 'ended'; readonly in: string; readonly text: string; readonly data?: unknown }
  | { readonly kind: 'failed'; readonly in: string; readonly reason: string }
  /** Its answer is not needed any more. */
  | { readonly kind: 'dropped'; readonly in: string }
  /** The fleet had failed and goes on all the same: a member that had failed, or was dropped, is at work again. */
  | { readonly kind: 'retried'; readonly in: string };

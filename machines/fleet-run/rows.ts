// Fleet journal rows about members, by name. Rows are stored permanently: released fields keep their meaning,
// and changes only add fields.

export type MemberRow =
  /** The member starts; effects are possible from now on. */
  | { readonly kind: 'entered'; readonly in: string }
  | { readonly kind: 'ended'; readonly in: string; readonly text: string; readonly data?: unknown }
  | { readonly kind: 'failed'; readonly in: string; readonly reason: string }
  /** The answer is no longer needed. */
  | { readonly kind: 'dropped'; readonly in: string }
  /** The failed fleet is retried: a failed or dropped member resumes. */
  | { readonly kind: 'retried'; readonly in: string };

// Parses the mailbox keys of manual conversations with agents, fleets and flows.

import { type Target, type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';

/** Followed by kind and name of the target, and the name of the session, separated by slashes. */
const PREFIX = 'conversation/manual/';

/** Returns a manual conversation's target and session; undefined for any other key. */
export function conversationOf(
  key: string,
): { readonly target: Target; readonly session: string } | undefined {
  if (!key.startsWith(PREFIX)) return undefined;
  const [kind = '', name = '', session = ''] = key.slice(PREFIX.length).split('/');
  return isKind(kind) && name !== '' ? { target: { kind, name }, session } : undefined;
}

const isKind = (value: string): value is TargetKind => (targetKinds as readonly string[]).includes(value);

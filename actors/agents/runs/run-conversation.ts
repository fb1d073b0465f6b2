// The conversations of agents, fleets and flows that are asked without a trigger of a file, by the keys of their mailboxes.

import { type Target, type TargetKind, targetKinds } from '../../../config/resources/triggers/target.ts';

/** Who is asked follows, by kind and name, and the name of the session. */
const PREFIX = 'conversation/manual/';

/** Undefined for any other key. */
export function conversationOf(
  key: string,
): { readonly target: Target; readonly session: string } | undefined {
  if (!key.startsWith(PREFIX)) return undefined;
  const [kind = '', name = '', session = ''] = key.slice(PREFIX.length).split('/');
  return isKind(kind) && name !== '' ? { target: { kind, name }, session } : undefined;
}

const isKind = (word: string): word is TargetKind => (targetKinds as readonly string[]).includes(word);

// What `append` says of an event, made of the event itself and of what an engine has to say of it.

import type { NewEvent } from './event.ts';
import type { Entered } from './ledger.ts';
import type { Appended } from './store.ts';

export function appendedOf(event: NewEvent, { outcome, state, claimed }: Entered): Appended {
  const { id, key, meta, body, trace, parsed, kind } = event;
  if (claimed === undefined) return { id, outcome, state };
  const { fence, seq, at, snapshot } = claimed;
  const stored = { id, key, meta, body, trace, parsed, seq, at, attempt: 1, crashes: 0 };
  const turn = { key, fence, event: kind === undefined ? stored : { ...stored, kind }, snapshot };
  return { id, outcome, state, turn };
}

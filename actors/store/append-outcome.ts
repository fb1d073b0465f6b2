// Builds the result of `Store.append` for an event from the engine's result, which lacks the event itself.

import type { NewEvent } from './event.ts';
import type { AppendOutcome } from './store.ts';
import type { AppendResult } from './sync-store.ts';

export function appendedOf(event: NewEvent, { outcome, state, claimed }: AppendResult): AppendOutcome {
  const { id, key, meta, body, trace, parsed, kind } = event;
  if (claimed === undefined) return { id, outcome, state };
  const { fence, seq, at, snapshot } = claimed;
  const stored = { id, key, meta, body, trace, parsed, seq, at, attempt: 1, crashes: 0 };
  const turn = { key, fence, event: kind === undefined ? stored : { ...stored, kind }, snapshot };
  return { id, outcome, state, turn };
}

// What there is to see of an actor: who it is, whose child, and in which state. Never its context, its input or an event's
// payload: those hold what a server said and what an operator configured (A9).

import type { AnyActorRef, Snapshot } from 'xstate';
import type { ActorNode, StateValue } from './wire.ts';

/** The actor as the inspector shows it. */
export function nodeOf(ref: AnyActorRef): ActorNode {
  return {
    id: ref.sessionId,
    parent: ref._parent?.sessionId ?? null,
    name: ref.id,
    machine: machineOf(ref),
    state: stateOf(ref.getSnapshot()),
  };
}

/** An actor and all its descendants that are there, parents first. */
export function* treeOf(root: AnyActorRef): Generator<AnyActorRef> {
  yield root;
  const { children = {} } = root.getSnapshot() as { children?: Record<string, AnyActorRef | undefined> };
  for (const child of Object.values(children))
    if (child !== undefined && isThere(child)) yield* treeOf(child);
}

export function stateOf(snapshot: Snapshot<unknown>): StateValue {
  return 'value' in snapshot ? (snapshot.value as StateValue) : snapshot.status;
}

/** Neither done nor failed nor stopped. */
export function isThere(ref: AnyActorRef): boolean {
  return ref.getSnapshot().status === 'active';
}

function machineOf(ref: AnyActorRef): string | null {
  // Every actor has its logic; only the types keep it to themselves.
  const { logic } = ref as unknown as { readonly logic: object };
  return 'root' in logic && 'id' in logic ? String(logic.id) : null;
}

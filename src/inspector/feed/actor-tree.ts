// What there is to see of an actor: who it is, whose child, and in which state. Of its context only the keys that its machine
// names in `meta.inspect`, and of those only numbers, truth values and short texts; never its input or an event's payload:
// those hold what a server said and what an operator configured (A9).

import type { AnyActorRef, Snapshot } from 'xstate';
import type { ActorNode, StateValue } from '../wire/feed-wire.ts';
import type { ActorNames } from './actor-names.ts';

/** The actor as the inspector shows it. */
export function nodeOf(ref: AnyActorRef, names: ActorNames): ActorNode {
  return {
    id: ref.sessionId,
    parent: ref._parent?.sessionId ?? null,
    name: names.nameOf(ref.id),
    machine: machineOf(ref),
    state: stateOf(ref.getSnapshot()),
    context: namedContext(ref),
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
  const logic = logicOf(ref);
  return 'root' in logic && 'id' in logic ? String(logic.id) : null;
}

const MAX_TEXT = 200;

function namedContext(ref: AnyActorRef): ActorNode['context'] {
  const { config } = logicOf(ref) as { config?: { meta?: { inspect?: readonly string[] } } };
  const keys = config?.meta?.inspect;
  if (keys === undefined) return undefined;
  const { context = {} } = ref.getSnapshot() as { context?: Record<string, unknown> };
  const named: Record<string, number | boolean | string> = {};
  for (const key of keys) {
    const value = context[key];
    if (typeof value === 'number' || typeof value === 'boolean') named[key] = value;
    else if (typeof value === 'string') named[key] = value.slice(0, MAX_TEXT);
  }
  return named;
}

/** Every actor has its logic; only the types keep it to themselves. */
function logicOf(ref: AnyActorRef): object {
  return (ref as unknown as { readonly logic: object }).logic;
}

// Reads actors for the inspector: id, parent, state, and the context fields that the machine lists in
// `meta.inspect`, only numbers, booleans and short texts. Inputs and payloads are never read: they contain
// texts of servers and the configuration (A9, ARCHITECTURE.md).

import type { AnyActorRef, Snapshot } from 'xstate';
import type { ActorNode, StateValue } from '../wire/feed.ts';
import type { ActorNames } from './actor-names.ts';

export function nodeOf(ref: AnyActorRef, names: ActorNames): ActorNode {
  return {
    id: ref.sessionId,
    parent: ref._parent?.sessionId ?? null,
    name: names.nameOf(ref.id),
    machine: machineOf(ref),
    state: stateOf(ref.getSnapshot()),
    context: readContext(ref),
  };
}

/** Returns an actor and all active descendants, parents first. */
export function* treeOf(root: AnyActorRef): Generator<AnyActorRef> {
  yield root;
  const { children = {} } = root.getSnapshot() as { children?: Record<string, AnyActorRef | undefined> };
  for (const child of Object.values(children))
    if (child !== undefined && isActive(child)) yield* treeOf(child);
}

export function stateOf(snapshot: Snapshot<unknown>): StateValue {
  return 'value' in snapshot ? (snapshot.value as StateValue) : snapshot.status;
}

/** Returns true if the actor is not done, failed or stopped. */
export function isActive(ref: AnyActorRef): boolean {
  return ref.getSnapshot().status === 'active';
}

function machineOf(ref: AnyActorRef): string | null {
  const logic = logicOf(ref);
  return 'root' in logic && 'id' in logic ? String(logic.id) : null;
}

/** Maximum length of a text, in characters. */
const MAX_TEXT = 200;

function readContext(ref: AnyActorRef): ActorNode['context'] {
  const { config } = logicOf(ref) as { config?: { meta?: { inspect?: readonly string[] } } };
  const keys = config?.meta?.inspect;
  if (keys === undefined) return undefined;
  const { context = {} } = ref.getSnapshot() as { context?: Record<string, unknown> };
  const fields: Record<string, number | boolean | string> = {};
  for (const key of keys) {
    const value = context[key];
    if (typeof value === 'number' || typeof value === 'boolean') fields[key] = value;
    else if (typeof value === 'string') fields[key] = value.slice(0, MAX_TEXT);
  }
  return fields;
}

/** Returns the logic, which the types hide. */
function logicOf(ref: AnyActorRef): object {
  return (ref as unknown as { readonly logic: object }).logic;
}

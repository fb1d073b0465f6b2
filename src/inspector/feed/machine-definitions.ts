// Converts the XState machines to definitions for the charts: states, and transitions with event, target and
// guard. Actions and contexts are omitted, because they are code.

import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { connectionMachine } from '../../../machines/connection.ts';
import { conversationMachine } from '../../../machines/conversation.ts';
import { gatewayMachine } from '../../../machines/gateway.ts';
import { serverMachine } from '../../../machines/server.ts';
import { supervisorMachine } from '../../../machines/supervisor.ts';
import { triggerMachine } from '../../../machines/trigger.ts';
import type { MachineDefinition, MachineState, MachineTransition } from '../wire/feed.ts';

const machines = [
  gatewayMachine,
  supervisorMachine,
  serverMachine,
  triggerMachine,
  connectionMachine,
  conversationMachine,
];

/** Returns all machines of the actor tree. Their ids are the names in `tree` messages. */
export function machineDefinitions(): MachineDefinition[] {
  return machines.map((machine) => definitionOf(machine));
}

export function definitionOf(machine: AnyStateMachine): MachineDefinition {
  return { id: machine.id, root: stateOf(machine.root) };
}

function stateOf(node: AnyStateNode): MachineState {
  const transitions = [...node.transitions.values(), node.always ?? []].flat();
  const initialNode = node.type === 'compound' ? node.initial?.target?.[0] : undefined;
  return {
    path: pathOf(node),
    key: node.key,
    type: node.type,
    initial: initialNode === undefined ? null : pathOf(initialNode),
    states: Object.values<AnyStateNode>(node.states).map(stateOf),
    transitions: transitions.map(transitionOf),
  };
}

function transitionOf({
  eventType,
  target,
  guard,
}: AnyStateNode['always'] & object extends (infer T)[] ? T : never): MachineTransition {
  return { event: eventType, targets: (target ?? []).map(pathOf), guard: guardName(guard) };
}

function pathOf(node: AnyStateNode): string {
  return node.path.join('.');
}

/** Returns the name of the guard; `condition` for inline functions. */
function guardName(guard: unknown): string | null {
  if (guard === undefined) return null;
  if (typeof guard === 'string') return guard;
  if (typeof guard === 'function')
    return guard.name === '' || guard.name === 'guard' ? 'condition' : guard.name;
  const { type } = guard as { type?: unknown };
  return typeof type === 'string' ? type : 'condition';
}

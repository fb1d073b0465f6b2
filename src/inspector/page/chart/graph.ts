// Converts a machine definition to boxes and arrows, before the layout. A transition that stays in its state
// is a note in the box of the state.

import type { MachineDefinition, MachineState, MachineTransition } from '../../wire/feed.ts';
import { eventText } from '../state-text.ts';

export interface GraphBox {
  readonly path: string;
  readonly label: string;
  readonly parent: string | null;
  /** True if the box contains other boxes. */
  readonly isCluster: boolean;
  readonly isFinal: boolean;
  /** True for the initial state of its parent. */
  readonly isInitial: boolean;
  /** Events that the state handles without leaving it. */
  readonly notes: readonly Label[];
}

export interface Label {
  readonly event: string;
  readonly text: string;
}

/** All transitions between two states are one arrow, with a label each. */
export interface GraphArrow {
  readonly source: string;
  readonly target: string;
  readonly labels: readonly Label[];
}

interface Graph {
  readonly boxes: readonly GraphBox[];
  readonly arrows: readonly GraphArrow[];
  /** Events that the machine handles in any state; they have no arrows. */
  readonly everywhere: readonly Label[];
}

export function graphOf({ root }: MachineDefinition): Graph {
  const boxes: GraphBox[] = [];
  const arrows = new Map<string, { source: string; target: string; labels: Label[] }>();
  const visit = (state: MachineState, parent: MachineState): void => {
    boxes.push({
      path: state.path,
      label: state.key,
      parent: parent.path === '' ? null : parent.path,
      isCluster: state.states.length > 0,
      isFinal: state.type === 'final',
      isInitial: parent.initial === state.path,
      notes: uniqueLabels(state.transitions.filter((transition) => staysIn(state, transition))),
    });
    for (const transition of state.transitions) {
      if (staysIn(state, transition)) continue;
      for (const target of transition.targets) {
        const id = `${state.path} ${target}`;
        const arrow = arrows.get(id) ?? { source: state.path, target, labels: [] };
        arrow.labels.push(labelOf(transition));
        arrows.set(id, arrow);
      }
    }
    for (const child of state.states) visit(child, state);
  };
  for (const state of root.states) visit(state, root);
  return { boxes, arrows: [...arrows.values()], everywhere: root.transitions.map(labelOf) };
}

/** Returns true for transitions that have no target, or stay within the state: these have no arrow. */
function staysIn(state: MachineState, { targets }: MachineTransition): boolean {
  return targets.every((target) => target === state.path || target.startsWith(`${state.path}.`));
}

function labelOf({ event, guard }: MachineTransition): Label {
  const name = event === '' ? '' : eventText(event);
  const condition = guard === null ? '' : `[${guard}]`;
  return { event, text: [name, condition].filter(Boolean).join(' ') };
}

function uniqueLabels(transitions: readonly MachineTransition[]): Label[] {
  const texts = new Set<string>();
  return transitions.map(labelOf).filter(({ text }) => !texts.has(text) && texts.add(text));
}

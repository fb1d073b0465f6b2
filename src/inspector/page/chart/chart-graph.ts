// A machine's definition as boxes and arrows, before anything has a place: which states there are, which transitions are
// drawn between them, and which are only told of, inside of a box, because they leave their state where it is.

import type { MachineDefinition, MachineState, MachineTransition } from '../../wire/feed-wire.ts';
import { eventText } from '../state-words.ts';

export interface GraphBox {
  readonly path: string;
  readonly label: string;
  readonly parent: string | null;
  readonly isCluster: boolean;
  readonly isFinal: boolean;
  /** Entered first by whatever is around it. */
  readonly isInitial: boolean;
  /** What leads on from whatever is around it leads on from here; else from where that is entered. */
  readonly isLast?: boolean;
  /** What it handles and stays. */
  readonly notes: readonly Label[];
}

export interface Label {
  readonly event: string;
  readonly text: string;
}

/** All transitions between the same two states are one arrow with a label for each. */
export interface GraphArrow {
  readonly source: string;
  readonly target: string;
  readonly labels: readonly Label[];
}

export interface Graph {
  readonly boxes: readonly GraphBox[];
  readonly arrows: readonly GraphArrow[];
  /** What the machine handles in any state. */
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
      notes: merged(state.transitions.filter((transition) => staysIn(state, transition))),
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

/** Without a target, or around itself, or from a state to what is inside of it: no arrow that could be drawn. */
function staysIn(state: MachineState, { targets }: MachineTransition): boolean {
  return targets.every((target) => target === state.path || target.startsWith(`${state.path}.`));
}

function labelOf({ event, guard }: MachineTransition): Label {
  const name = event === '' ? '' : eventText(event);
  const condition = guard === null ? '' : `[${guard}]`;
  return { event, text: [name, condition].filter(Boolean).join(' ') };
}

function merged(transitions: readonly MachineTransition[]): Label[] {
  const seen = new Set<string>();
  return transitions.map(labelOf).filter(({ text }) => !seen.has(text) && seen.add(text));
}

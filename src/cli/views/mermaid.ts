// Converts an XState machine to a Mermaid state diagram, for `machines`. The input is the machine that the
// gateway runs, so the diagram is always correct. States appear in the order of the definition.
//
// Only syntax that all versions of Mermaid support is used: states, nested states, labelled arrows, and text
// in a state for events that do not leave it. Names must be unique in a diagram, so a nested state is named
// by its path.

import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate';

type Node = AnyStateMachine['root'];

interface DiagramArrow {
  readonly from: Node;
  readonly to: Node;
  readonly labels: readonly string[];
}

/**
 * Returns the diagram. The text has a line break at the end. Throws for a transition from the root, which
 * cannot be drawn.
 */
export function mermaid(machine: AnyStateMachine): string {
  const arrows = arrowsOf(machine.root);
  return `${['stateDiagram-v2', ...contents(machine.root, arrows, '  ')].join('\n')}\n`;
}

/** Returns the lines inside the state. */
function contents(node: Node, arrows: readonly DiagramArrow[], indent: string): string[] {
  const children = childrenOf(node);
  const innerArrows = arrows.filter(({ from, to }) => commonParent(from, to) === node);
  return [
    ...children.flatMap((child) => declaration(child, arrows, indent)),
    ...initialOf(node).map((child) => `${indent}[*] --> ${nameOf(child)}`),
    ...innerArrows.map(({ from, to, labels }) => {
      const text = labels.join(', ');
      return `${indent}${nameOf(from)} --> ${nameOf(to)}${text === '' ? '' : `: ${text}`}`;
    }),
    ...children.filter(({ type }) => type === 'final').map((child) => `${indent}${nameOf(child)} --> [*]`),
  ];
}

function declaration(node: Node, arrows: readonly DiagramArrow[], indent: string): string[] {
  const name = nameOf(node);
  const title = `${indent}state "${node.key}" as ${name}`;
  if (childrenOf(node).length === 0) {
    return [title, ...eventsWithin(node).map((text) => `${indent}${name}: ${text}`)];
  }
  // No title is needed if the name equals the key.
  const head = name === node.key ? [] : [title];
  return [...head, `${indent}state ${name} {`, ...contents(node, arrows, `${indent}  `), `${indent}}`];
}

/** Returns an arrow per pair of states, with the labels of all transitions between them. */
function arrowsOf(root: Node): DiagramArrow[] {
  const arrows: { from: Node; to: Node; labels: string[] }[] = [];
  for (const from of descendants(root)) {
    for (const { to, label } of stepsOf(from)) {
      if (to === undefined) continue;
      if (from === root)
        throw new Error(`the step "${label}" of the whole machine ${root.key} cannot be drawn`);
      let arrow = arrows.find((other) => other.from === from && other.to === to);
      if (arrow === undefined) {
        arrow = { from, to, labels: [] };
        arrows.push(arrow);
      }
      if (label !== '') arrow.labels.push(label);
    }
  }
  return arrows;
}

/**
 * Returns the events that a leaf state or its parents handle without leaving the state. A state that is left
 * immediately handles no event.
 */
function eventsWithin(node: Node): string[] {
  if (node.type === 'final' || (node.always ?? []).some(({ guard }) => guard === undefined)) return [];
  const handled = new Set<string>();
  const texts: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.parent as Node | undefined) {
    const unhandled = stepsOf(at).filter(({ event }) => !handled.has(event));
    for (const { event, to, label } of unhandled) {
      handled.add(event);
      if (to === undefined && event !== '') texts.push(label);
    }
  }
  return texts;
}

interface DiagramStep {
  /** Event type; '' for a transition without an event. */
  readonly event: string;
  readonly to: Node | undefined;
  readonly label: string;
}

function stepsOf(node: Node): DiagramStep[] {
  const groups = [...(node.always === undefined ? [] : [node.always]), ...node.transitions.values()];
  return groups.flatMap((group: readonly AnyTransitionDefinition[]) =>
    group.map((transition, at) => {
      const guard = guardText(transition.guard) ?? (at > 0 ? '[else]' : '');
      const label = clean(`${eventText(node, transition.eventType)} ${guard}`);
      return { event: transition.eventType, to: transition.target?.[0] as Node | undefined, label };
    }),
  );
}

function guardText(guard: unknown): string | undefined {
  if (guard === undefined) return undefined;
  const name = typeof guard === 'string' ? guard : (guard as { type?: string; name?: string }).type;
  return `[${name ?? (guard as { name?: string }).name ?? 'guard'}]`;
}

/** Returns the event's text. For XState's own events, it contains the name of the actor. */
function eventText(node: Node, event: string): string {
  const [, what, , id] = /^xstate\.(done|error|snapshot)\.(actor|state)\.(.*)$/.exec(event) ?? [];
  if (what === undefined) return event.replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1');
  const source = node.invoke.find((invoked) => invoked.id === id)?.src;
  const actor = typeof source === 'string' ? source : id === '*' ? 'any actor' : (id ?? '');
  return `${actor} ${what}`;
}

/** Removes characters that have a meaning in Mermaid. */
function clean(text: string): string {
  return text.replace(/[:;#"\s]+/g, ' ').trim();
}

const childrenOf = (node: Node): Node[] => Object.values(node.states) as Node[];

const descendants = (node: Node): Node[] => [node, ...childrenOf(node).flatMap(descendants)];

/** Returns the initial states: for a parallel state, all children. */
function initialOf(node: Node): readonly Node[] {
  if (node.type === 'parallel') return childrenOf(node);
  return childrenOf(node).length === 0 ? [] : (node.initial.target as readonly Node[]);
}

const nameOf = (node: Node): string => node.path.join('_').replace(/\W/g, '_');

/** Returns the innermost state that contains both states; the arrow is drawn inside it. */
function commonParent(from: Node, to: Node): Node | undefined {
  const ancestorsOf = (node: Node): Node[] => (node.parent ? [node.parent, ...ancestorsOf(node.parent)] : []);
  const ancestors = new Set(ancestorsOf(from));
  return ancestorsOf(to).find((node) => ancestors.has(node));
}

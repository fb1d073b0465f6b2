// A state machine as a Mermaid state diagram: text that documents and code hosts draw. Made from the machine that runs,
// so that no picture can say otherwise.
//
// MM1  the same machine always gives the same text, in the order of its definition.
// MM2  only the small part of the language is used that every version draws: states, nested states, arrows, one line of
//     text on each, and lines of text in a state for events that are handled without leaving it.
// MM3  names of nested states are their paths: Mermaid knows one name space per diagram.

import type { AnyStateMachine, AnyTransitionDefinition } from 'xstate';

type Node = AnyStateMachine['root'];

interface Arrow {
  readonly from: Node;
  readonly to: Node;
  readonly labels: readonly string[];
}

/**
 * The diagram, with a line break at its end. Throws for a step from the whole machine into one of its states: an arrow
 * needs a state to leave.
 */
export function mermaid(machine: AnyStateMachine): string {
  const arrows = arrowsOf(machine.root);
  return `${['stateDiagram-v2', ...contents(machine.root, arrows, '  ')].join('\n')}\n`;
}

/** What stands between the braces of a state that has others inside. */
function contents(node: Node, arrows: readonly Arrow[], indent: string): string[] {
  const children = childrenOf(node);
  const own = arrows.filter(({ from, to }) => roomOf(from, to) === node);
  return [
    ...children.flatMap((child) => declaration(child, arrows, indent)),
    ...initialOf(node).map((child) => `${indent}[*] --> ${nameOf(child)}`),
    ...own.map(({ from, to, labels }) => {
      const text = labels.join(', ');
      return `${indent}${nameOf(from)} --> ${nameOf(to)}${text === '' ? '' : `: ${text}`}`;
    }),
    ...children.filter(({ type }) => type === 'final').map((child) => `${indent}${nameOf(child)} --> [*]`),
  ];
}

function declaration(node: Node, arrows: readonly Arrow[], indent: string): string[] {
  const name = nameOf(node);
  const title = `${indent}state "${node.key}" as ${name}`;
  if (childrenOf(node).length === 0) {
    return [title, ...eventsWithin(node).map((text) => `${indent}${name}: ${text}`)];
  }
  // A title of its own is given where the name is not one.
  const head = name === node.key ? [] : [title];
  return [...head, `${indent}state ${name} {`, ...contents(node, arrows, `${indent}  `), `${indent}}`];
}

/** All arrows of the machine; those between the same two states are one, with several labels. */
function arrowsOf(root: Node): Arrow[] {
  const found: { from: Node; to: Node; labels: string[] }[] = [];
  for (const from of descendants(root)) {
    for (const { to, label } of steps(from)) {
      if (to === undefined) continue;
      if (from === root)
        throw new Error(`the step "${label}" of the whole machine ${root.key} cannot be drawn`);
      let arrow = found.find((other) => other.from === from && other.to === to);
      if (arrow === undefined) {
        arrow = { from, to, labels: [] };
        found.push(arrow);
      }
      if (label !== '') arrow.labels.push(label);
    }
  }
  return found;
}

/**
 * What a state without others inside handles and stays in. What is around it handles the rest, so its events are named
 * here as well; a state that is left at once handles nothing.
 */
function eventsWithin(node: Node): string[] {
  if (node.type === 'final' || (node.always ?? []).some(({ guard }) => guard === undefined)) return [];
  const handled = new Set<string>();
  const texts: string[] = [];
  for (let at: Node | undefined = node; at !== undefined; at = at.parent as Node | undefined) {
    const news = steps(at).filter(({ event }) => !handled.has(event));
    for (const { event, to, label } of news) {
      handled.add(event);
      if (to === undefined && event !== '') texts.push(label);
    }
  }
  return texts;
}

interface Step {
  /** As the machine spells it; empty for a step that needs none. */
  readonly event: string;
  readonly to: Node | undefined;
  readonly label: string;
}

function steps(node: Node): Step[] {
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

/** XState's own events in plain words; those of an invoked actor by its name. */
function eventText(node: Node, event: string): string {
  const [, what, , id] = /^xstate\.(done|error|snapshot)\.(actor|state)\.(.*)$/.exec(event) ?? [];
  if (what === undefined) return event.replace(/^xstate\.after\.([^.]+)\..*$/, 'after $1');
  const source = node.invoke.find((invoked) => invoked.id === id)?.src;
  const actor = typeof source === 'string' ? source : id === '*' ? 'any actor' : (id ?? '');
  return `${actor} ${what}`;
}

/** Without the characters at which Mermaid ends a text. */
function clean(text: string): string {
  return text.replace(/[:;#"\s]+/g, ' ').trim();
}

const childrenOf = (node: Node): Node[] => Object.values(node.states) as Node[];

const descendants = (node: Node): Node[] => [node, ...childrenOf(node).flatMap(descendants)];

/** Where a state begins; all at once where they are parallel. */
function initialOf(node: Node): readonly Node[] {
  if (node.type === 'parallel') return childrenOf(node);
  return childrenOf(node).length === 0 ? [] : (node.initial.target as readonly Node[]);
}

const nameOf = (node: Node): string => node.path.join('_').replace(/\W/g, '_');

/** The innermost state that both are inside of: there their arrow is drawn. */
function roomOf(from: Node, to: Node): Node | undefined {
  const around = (node: Node): Node[] => (node.parent ? [node.parent, ...around(node.parent)] : []);
  const rooms = new Set(around(from));
  return around(to).find((node) => rooms.has(node));
}

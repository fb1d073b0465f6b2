// Converts a flow to a Mermaid flowchart, for `flows graph`. Nodes appear in the order of the file, so the
// same flow always gives the same text.
//
// Node names in the chart are generated. Texts from the file occur only in labels, where special characters
// of Mermaid and HTML are escaped.

import type { FlowDetails } from '../../http/api/target-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';

type FlowStructure = Pick<FlowDetails, 'nodes' | 'connections'>;
type Node = FlowDetails['nodes'][number];

/** Shapes by node type. Other types get a box. */
const shapes: Readonly<Record<string, readonly [open: string, close: string]>> = {
  Agent: ['([', '])'],
  Fleet: ['[[', ']]'],
  Tool: ['[/', '/]'],
  HTTP: ['[/', '/]'],
  Approval: ['{{', '}}'],
  Response: ['>', ']'],
  Conditional: ['{', '}'],
  Parallel: ['((', '))'],
  Join: ['((', '))'],
  End: ['(((', ')))'],
};
const BOX = ['[', ']'] as const;

/** Maximum label length. */
const LONGEST = 120;

/** Returns the chart. The text has a line break at the end. */
export function flowChart(flow: Pick<FlowDetails, 'name'> & FlowStructure): string {
  return [
    `---`,
    `title: ${JSON.stringify(cut(flow.name))}`,
    `---`,
    'flowchart TD',
    ...bodyLines(flow, 'n', '  '),
    '',
  ].join('\n');
}

/**
 * Returns the lines for a flow, or for the nodes inside a loop. `prefix` makes node names unique in the
 * chart.
 */
function bodyLines({ nodes, connections }: FlowStructure, prefix: string, indent: string): readonly string[] {
  const names = new Map(nodes.map(({ id }, index) => [id, `${prefix}${index + 1}`]));
  const nameOf = (id: string) => names.get(id) ?? prefix;
  return [
    ...nodes.flatMap((node) => nodeLines(node, nameOf(node.id), indent)),
    ...connections.map(({ from, to, when }) => {
      const label = labelText(when ?? '');
      // Mermaid rejects empty labels.
      return `${indent}${nameOf(from)} -->${label === '' ? '' : `|"${label}"|`} ${nameOf(to)}`;
    }),
    ...nodes.flatMap(({ id, on_error }) =>
      on_error === null ? [] : [`${indent}${nameOf(id)} -.->|"on error"| ${nameOf(on_error)}`],
    ),
  ];
}

function nodeLines({ id, type, inside }: Node, name: string, indent: string): readonly string[] {
  const label = `"${labelText(id)}<br/>${labelText(type)}"`;
  if (inside === undefined) {
    const [open, close] = Object.hasOwn(shapes, type) ? (shapes[type] ?? BOX) : BOX;
    return [`${indent}${name}${open}${label}${close}`];
  }
  return [
    `${indent}subgraph ${name} [${label}]`,
    ...bodyLines(inside, `${name}_`, `${indent}  `),
    `${indent}end`,
  ];
}

/** Escapes all characters that may be syntax: `"` becomes `#34;`. */
function labelText(text: string): string {
  return Array.from(cut(text), (char) =>
    /[\p{L}\p{N} .,:?!_=+*/()'-]/u.test(char) ? char : `#${char.codePointAt(0)};`,
  ).join('');
}

const cut = (text: string): string => {
  const line = printable(text.replace(/\s+/g, ' ').trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
};

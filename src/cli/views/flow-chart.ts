// A flow as a Mermaid flowchart: text that documents and code hosts draw.
//
// FLC1  whatever stands in names, conditions and descriptions is text of a label, and never a part of the chart: names of nodes in the chart
//     are made here, and in labels what means something to Mermaid or to HTML is written as a character code.
// FLC2  the same flow always gives the same text, in the order of its file.

import type { FlowDetails } from '../../http/api/target-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';

type Body = Pick<FlowDetails, 'nodes' | 'connections'>;
type Node = FlowDetails['nodes'][number];

/** What stands around the label, by type; a plain box for any other. */
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

/** Of one label, in characters: a chart with whole programs on its arrows is not read. */
const LONGEST = 120;

/** With a line break at its end. */
export function flowChart(flow: Pick<FlowDetails, 'name'> & Body): string {
  return [
    `---`,
    `title: ${JSON.stringify(cut(flow.name))}`,
    `---`,
    'flowchart TD',
    ...bodyLines(flow, 'n', '  '),
    '',
  ].join('\n');
}

/** `prefix` is before the names of its nodes: one chart has one space of names. */
function bodyLines({ nodes, connections }: Body, prefix: string, indent: string): readonly string[] {
  const names = new Map(nodes.map(({ id }, index) => [id, `${prefix}${index + 1}`]));
  const nameOf = (id: string) => names.get(id) ?? prefix;
  return [
    ...nodes.flatMap((node) => nodeLines(node, nameOf(node.id), indent)),
    ...connections.map(({ from, to, when }) => {
      const label = labelText(when ?? '');
      // Mermaid refuses one that is empty.
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

/** Codes as Mermaid has them: `#quot;` is `"`. Letters and digits stay, and what no syntax knows. */
function labelText(text: string): string {
  return Array.from(cut(text), (char) =>
    /[\p{L}\p{N} .,:?!_=+*/()'-]/u.test(char) ? char : `#${char.codePointAt(0)};`,
  ).join('');
}

const cut = (text: string): string => {
  const line = printable(text.replace(/\s+/g, ' ').trim());
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
};

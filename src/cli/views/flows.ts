// Formats fleets and flows as tables and pages.

import { relative } from 'node:path';
import type { FleetRecord, FlowDetails, FlowRecord } from '../../http/api/target-shapes.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { type Column, table } from './table.ts';

/** Entry that may come from a file (-f). */
interface InFile {
  readonly file?: string;
}

const fileColumn: Column<InFile> = {
  title: 'FILE',
  text: ({ file = '' }) => relative(process.cwd(), file),
};

const withFile = <Row extends object>(
  columns: readonly Column<Row>[],
  rows: readonly (Row & InFile)[],
): readonly Column<Row & InFile>[] => (rows[0]?.file === undefined ? columns : [...columns, fileColumn]);

export function fleetTable(rows: readonly (FleetRecord & InFile)[], width?: number): string[] {
  const columns: readonly Column<FleetRecord>[] = [
    { title: 'FLEET', text: ({ name }) => name },
    { title: 'MODE', text: ({ mode }) => mode },
    { title: 'MEMBERS', text: ({ members }) => members.map(({ name }) => name).join(' ') },
    { title: 'DESCRIPTION', text: ({ description }) => description || '-' },
  ];
  return rows.length === 0 ? ['no fleets'] : table(withFile(columns, rows), rows, width);
}

export function flowTable(rows: readonly (FlowRecord & InFile)[], width?: number): string[] {
  const columns: readonly Column<FlowRecord>[] = [
    { title: 'FLOW', text: ({ name }) => name },
    { title: 'NODES', isNumber: true, text: ({ nodes_count }) => String(nodes_count) },
    { title: 'PARAMETERS', text: parameterWords },
    { title: 'DESCRIPTION', text: ({ description }) => description || '-' },
  ];
  return rows.length === 0 ? ['no flows'] : table(withFile(columns, rows), rows, width);
}

const parameterWords = ({ parameters }: FlowRecord) =>
  parameters.map(({ name, required }) => (required ? name : `[${name}]`)).join(' ') || '-';

type FlowStructure = Pick<FlowDetails, 'nodes' | 'connections'>;
type Node = FlowDetails['nodes'][number];

export function flowPage(flow: FlowDetails & InFile, width?: number): string[] {
  const { name, description, parameters, timeout_seconds } = flow;
  const entries: readonly (readonly [string, string])[] = [
    ['flow', name],
    ...(description === null ? [] : [['description', description] as const]),
    ...parameters.map((each) => ['parameter', parameterLine(each)] as const),
    ['timeout', `${timeout_seconds} s`],
    ...(flow.file === undefined ? [] : [['file', relative(process.cwd(), flow.file)] as const]),
  ];
  const columns: readonly Column<{ readonly path: string; readonly node: Node; readonly next: string }>[] = [
    { title: 'NODE', text: ({ path }) => path },
    { title: 'TYPE', text: ({ node }) => node.type },
    { title: 'NEXT', text: ({ next }) => next },
    { title: 'DESCRIPTION', text: ({ node }) => node.description ?? '' },
  ];
  return [
    ...entries.map(([title, text]) => `${title.padEnd(12)}  ${printable(text)}`),
    '',
    ...table(columns, nodeRows(flow, ''), width),
  ];
}

function parameterLine({
  name,
  required,
  description,
  default: byDefault,
}: FlowDetails['parameters'][number]): string {
  const note = required ? 'required' : byDefault === undefined ? 'optional' : `default ${byDefault}`;
  return `${name} (${note})${description === undefined ? '' : `  ${description}`}`;
}

/** Returns a row per node. The nodes inside a loop follow the row of the loop. */
function nodeRows(
  { nodes, connections }: FlowStructure,
  prefix: string,
): readonly { path: string; node: Node; next: string }[] {
  return nodes.flatMap((node) => {
    const next = [
      ...connections
        .filter(({ from }) => from === node.id)
        .map(({ to, when }) => (when === null ? to : `${to} (${when})`)),
      ...(node.on_error === null ? [] : [`${node.on_error} (on error)`]),
    ];
    const row = { path: prefix + node.id, node, next: next.join(', ') };
    return node.inside === undefined ? [row] : [row, ...nodeRows(node.inside, `${row.path}/`)];
  });
}

// Formats cluster nodes: a table, and a line per difference between nodes.

import { differencesOf, type NodeStatus } from '../../../actors/cluster/node-list.ts';
import type { NodesAnswer } from '../../http/api/node-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { counted, duration } from './figures.ts';
import { type Column, table } from './table.ts';

export function nodesPage({ nodes, stale_seconds }: NodesAnswer, paint: Paint, width?: number): string[] {
  const columns: Column<NodeStatus>[] = [
    { title: 'NODE', text: ({ name }) => printable(name) },
    {
      title: 'STATE',
      text: ({ state }) => state,
      paint: ({ state }, text) => paint(state === 'running' ? 'good' : 'busy', text),
    },
    { title: 'EPOCH', isNumber: true, text: ({ epoch }) => String(epoch) },
    { title: 'VERSION', text: ({ version }) => printable(version ?? '-') },
    { title: 'CONFIGURATION', text: ({ config_hash }) => printable(config_hash ?? '-') },
  ];
  return [
    ...table(columns, nodes, width),
    ...differenceTexts(nodes).map((text) => paint('bad', text)),
    ...(stale_seconds === undefined ? [] : [paint('bad', staleText(stale_seconds))]),
  ];
}

/** Returns `3 nodes: a, b, c (draining)`, followed by problems. */
export function nodesLine({ nodes, stale_seconds }: NodesAnswer, paint: Paint): string {
  const names = nodes.map(({ name, state }) => printable(state === 'running' ? name : `${name} (${state})`));
  const wrong = [
    ...differenceTexts(nodes),
    ...(stale_seconds === undefined
      ? []
      : [`as of ${duration(stale_seconds)} ago, because the database does not respond`]),
  ];
  return [
    `${counted(nodes.length, 'node')}: ${names.join(', ')}`,
    ...wrong.map((text) => paint('bad', text)),
  ].join('; ');
}

function differenceTexts(nodes: readonly NodeStatus[]): string[] {
  return differencesOf(nodes).map(([, word]) => `the nodes differ in their ${word}`);
}

const staleText = (seconds: number) =>
  `the database does not respond; showing the nodes of ${duration(seconds)} ago`;

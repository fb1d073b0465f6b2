// One question by each of its names: whatever is listed by `get`, by its noun alone (`agents`) and by the noun with `list`, and one
// of them is shown by `get` and by the noun with `show`.

import { approvalOperations } from './approval-operations.ts';
import { automationOperations } from './automation-operations.ts';
import type { Operation } from './operation.ts';
import { serverOperations } from './operations.ts';
import { runOperations } from './run-operations.ts';

const { 'get triggers': triggers } = automationOperations;
const { 'get agents': agents, 'get fleets': fleets, 'get flows': flows } = automationOperations;

const listOf = (noun: string, operation: Operation): Operation => ({
  ...operation,
  args: [],
  examples: [noun, `${noun} list --json`],
});

const oneOf = (noun: string, operation: Operation): Operation => ({
  ...operation,
  args: operation.args.map(([syntax, meaning]) => [syntax.replace(/^\[(.+)\]$/, '<$1>'), meaning]),
  examples: [`${noun} show NAME`],
});

export const nounOperations = {
  'triggers list': listOf('triggers', triggers),
  'agents list': listOf('agents', agents),
  'agents show': { ...oneOf('agents', agents), description: 'One agent.' },
  'fleets list': listOf('fleets', fleets),
  'fleets show': { ...oneOf('fleets', fleets), description: 'One fleet.' },
  'flows list': listOf('flows', flows),
  'flows show': { ...oneOf('flows', flows), description: 'One flow: its parameters and its nodes.' },
  'get servers': serverOperations.servers,
  'get deliveries': automationOperations['deliveries list'],
  'get runs': runOperations['runs list'],
  'get approvals': approvalOperations['approvals list'],
} satisfies Readonly<Record<string, Operation>>;

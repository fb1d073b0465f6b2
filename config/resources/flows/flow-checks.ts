// Checks that the agents, fleets and tool servers that a flow names exist, once all files are loaded. Nodes
// within loops are included.

import { joinPath } from '../../reader/field-path.ts';
import type { Problem } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import type { Agent } from '../agents/agent.ts';
import { checkFleet } from '../fleets/fleet-checks.ts';
import type { Flow, FlowBody } from './flow.ts';
import { didYouMean } from './flow-names.ts';

export interface AvailableTargets {
  /** All agents by name; undefined for an agent with errors. */
  readonly agents: ReadonlyMap<string, Agent | undefined>;
  /** All fleets by name. */
  readonly fleets: { keys(): Iterable<string> };
  /** Ids of the catalog's tool servers; if undefined, servers are not checked. */
  readonly servers: readonly string[] | undefined;
}

/** `severity` applies to unknown names, which may be in files that were not loaded. */
export function checkFlow(
  reader: SchemaReader,
  flow: Flow,
  known: AvailableTargets,
  severity: Problem['severity'] = 'error',
): void {
  checkBody(reader, flow, 'spec', known, severity);
}

function checkBody(
  reader: SchemaReader,
  { nodes }: FlowBody,
  path: string,
  known: AvailableTargets,
  severity: Problem['severity'],
): void {
  const { agents, fleets, servers } = known;
  const check = (noun: string, name: string, names: readonly string[], fieldPath: string) => {
    if (!names.includes(name))
      reader.report(fieldPath, `there is no ${noun} ${name}${didYouMean(name, names)}`, severity);
  };
  for (const [index, { work }] of nodes.entries()) {
    const configPath = joinPath(joinPath(joinPath(path, 'nodes'), index), 'config');
    if (work.type === 'Loop') checkBody(reader, work.body, configPath, known, severity);
    if (work.type === 'Agent' && typeof work.agent === 'string')
      check('agent', work.agent, [...agents.keys()], joinPath(configPath, 'agent'));
    if (work.type === 'Fleet' && typeof work.fleet === 'string')
      check('fleet', work.fleet, [...fleets.keys()], joinPath(configPath, 'fleet'));
    if (work.type === 'Fleet' && typeof work.fleet === 'object')
      checkFleet(reader, work.fleet, agents, severity, configPath);
    if (work.type === 'Tool' && servers !== undefined)
      check('server', work.server, servers, joinPath(configPath, 'server'));
  }
}

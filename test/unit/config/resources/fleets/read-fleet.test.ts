import { describe, expect, it } from 'vitest';
import { SchemaReader } from '../../../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import { SourceFile } from '../../../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../../../config/reader/yaml-tree.ts';
import type { Agent } from '../../../../../config/resources/agents/agent.ts';
import { checkFleet } from '../../../../../config/resources/fleets/fleet-checks.ts';
import { readFleet } from '../../../../../config/resources/fleets/read-fleet.ts';

const HEAD = `apiVersion: example.com/v1
kind: Fleet
metadata: { name: review }
spec:
`;

async function readSpec(spec: string, agents: Readonly<Record<string, Partial<Agent>>> = {}) {
  const source = new SourceFile('/fleets/review.yaml', HEAD + spec);
  const { root } = parseYamlTree(source);
  if (root === undefined) throw new Error('expected a document');
  const reader = new SchemaReader(source, {}, new SecretValues());
  const { fleet, inline } = await readFleet(reader, root, '/fleets/review.yaml');
  if (fleet !== undefined)
    checkFleet(reader, fleet, new Map(Object.entries(agents)) as ReadonlyMap<string, Agent>);
  const problems = [...reader.problems, ...inline.flatMap((each) => each.reader.problems)];
  return { fleet, problems: problems.map(({ line, column, message }) => `${line}:${column} ${message}`) };
}

const voting = (properties: object, required: readonly string[] = ['verdict']) =>
  ({
    runtime: { kind: 'model', output_schema: { type: 'object', properties, required } },
  }) as unknown as Partial<Agent>;

const VERDICT = voting({ verdict: { type: 'string', enum: ['ship', 'wait'] } });

it('a fleet is read with named and inline members', async () => {
  const { fleet, problems } = await readSpec(
    `  agents:
    - { name: security, agent: security-reviewer, weight: 2.5 }
    - name: style
      spec: { model: "google:gemini-2.5-flash", system_prompt: Look at style., output_schema: { type: object, properties: { verdict: { type: boolean } }, required: [verdict] } }
    - { name: lead, role: manager }
  coordination:
    mode: peer
    consensus: { field: verdict, algorithm: weighted, min_votes: 2, on_none: { agent: lead } }
  budget: { tokens: 500000 }
`,
    { 'security-reviewer': VERDICT, lead: voting({}) },
  );
  expect(problems).toEqual([]);
  expect(fleet?.members).toMatchObject([
    { name: 'security', agent: 'security-reviewer', weight: 2_500, isManager: false },
    { name: 'style', agent: { name: 'review/style' }, weight: 1_000 },
    { name: 'lead', agent: 'lead', isManager: true },
  ]);
  expect(fleet?.coordination).toEqual({
    mode: 'peer',
    by: { field: 'verdict', algorithm: 'weighted', min_votes: 2, on_none: { agent: 'lead' } },
  });
  expect(fleet).toMatchObject({
    budget: { tokens: 500_000 },
    on_failure: 'fail',
    timeout_seconds: 600,
    concurrency: 8,
  });
});

const TWO = '  agents: [{ name: a }, { name: b }]\n';
const both = { a: VERDICT, b: VERDICT };

describe('a problem of a fleet is reported with its position', () => {
  it.each<[string, string, Readonly<Record<string, Partial<Agent>>>, readonly string[]]>([
    [
      'a missing consensus',
      `${TWO}  coordination: { mode: peer }\n`,
      both,
      ['6:17 spec.coordination: needs consensus: { field }, or aggregation: merge or manager'],
    ],
    [
      'an unknown agent',
      `${TWO}  coordination: { mode: pipeline }\n`,
      { a: VERDICT, backup: VERDICT },
      ['5:33 spec.agents[1].name: there is no agent b'],
    ],
    [
      'a swarm',
      `${TWO}  coordination: { mode: swarm }\n`,
      both,
      [
        '6:25 spec.coordination.mode: swarm is not supported: use peer, or a Trigger for each kind of request',
      ],
    ],
    [
      'a confidence',
      `${TWO}  coordination: { mode: peer, consensus: { field: verdict, min_confidence: 0.8 } }\n`,
      both,
      [
        '6:60 spec.coordination.consensus.min_confidence: is not supported: the confidence reported by models is not reliable; use min_votes',
      ],
    ],
    [
      'approvers between votes',
      `${TWO}  coordination: { mode: peer, consensus: { field: verdict, on_none: { ask: [ada] } } }\n`,
      both,
      [
        '6:71 spec.coordination.consensus.on_none.ask: is not supported: name a member that decides (agent: NAME), or run this fleet in a flow, with on_error leading to an Approval',
      ],
    ],
    [
      'scaling',
      `${TWO}  scaling: { min: 1 }\n  coordination: { mode: pipeline }\n`,
      both,
      ['6:3 spec.scaling: is not supported: the list of members is fixed'],
    ],
    [
      'no manager',
      `${TWO}  coordination: { mode: hierarchical }\n`,
      both,
      ['5:11 spec.agents: mode hierarchical needs a single member with role: manager, found 0'],
    ],
    [
      'a manager without a model',
      '  agents: [{ name: a, role: manager }, { name: b }]\n  coordination: { mode: hierarchical }\n',
      { a: { runtime: { kind: 'http' } } as unknown as Partial<Agent>, b: VERDICT },
      [
        '5:20 spec.agents[0].name: mode hierarchical needs a manager with a model, which calls the members as tools; a has no model',
      ],
    ],
    [
      'a voter without a field',
      `${TWO}  coordination: { mode: peer, consensus: { field: verdict } }\n`,
      { a: VERDICT, b: voting({}) },
      ['5:33 spec.agents[1].name: b cannot vote: the output_schema of its agent has no verdict'],
    ],
    [
      'a field with free text',
      `${TWO}  coordination: { mode: peer, consensus: { field: verdict } }\n`,
      { a: VERDICT, b: voting({ verdict: { type: 'string' } }) },
      [
        '5:33 spec.agents[1].name: b cannot vote: verdict must be an enum, a boolean or an integer, so that answers can be equal',
      ],
    ],
    [
      'a duplicate name',
      '  agents: [{ name: a }, { name: a }]\n  coordination: { mode: pipeline }\n',
      both,
      ['5:33 spec.agents[1].name: is a duplicate: a'],
    ],
    [
      'an unknown key in an inline agent',
      '  agents: [{ name: a, spec: { model: "google:m", systemprompt: x } }]\n  coordination: { mode: pipeline }\n',
      {},
      ['5:50 spec.agents[0].spec.systemprompt: unknown key; did you mean system_prompt?'],
    ],
  ])('%s', async (_what, spec, agents, expected) => {
    expect((await readSpec(spec, agents)).problems).toEqual(expected);
  });
});

it('a fleet may use the aliases `members` and `ref`', async () => {
  const { fleet, problems } = await readSpec(
    '  members: [{ name: x, ref: a }]\n  coordination: { mode: pipeline }\n',
    both,
  );
  expect(problems).toEqual([]);
  expect(fleet?.members).toMatchObject([{ name: 'x', agent: 'a' }]);
});

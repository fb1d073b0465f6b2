// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { describe, expect, it } from 'vitest';
import { SchemaReader } from '../../../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import { SourceFile } from '../../../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../../../config/reader/yaml-tree.ts';
import { type AvailableTargets, checkFlow } from '../../../../../config/resources/flows/flow-checks.ts';
import { readFlow } from '../../../../../config/resources/flows/read-flow.ts';

const HEAD = `apiVersion: example.com/v1
kind: Flow
metadata: { name: deploy }
spec:
`;

async function readSpec(
  spec: string,
  env: Record<string, string> = {},
  knownResources?: Partial<AvailableTargets>,
) {
  const source = new SourceFile('/flows/deploy.yaml', HEAD + spec);
  const { root, problems } = parseYamlTree(source);
  expect(problems).toEqual([]);
  const reader = new SchemaReader(source, env, new SecretValues());
  if (root === undefined) throw new Error('expected a document');
  const { flow, inline } = await readFlow(reader, root, '/flows/deploy.yaml');
  if (flow !== undefined && knownResources !== undefined)
    checkFlow(reader, flow, { agents: new Map(), fleets: new Map(), servers: undefined, ...knownResources });
  const allProblems = [reader, ...inline.map((each) => each.reader)].flatMap((each) => each.problems);
  return {
    flow,
    problems: allProblems.map(({ line, column, message }) => `${line}:${column} ${message}`),
  };
}

const DEPLOY = `  parameters: [{ name: version, required: true }]
  timeout_seconds: 86400
  nodes:
    - { id: check, type: Agent, config: { agent: checker, input: "Check {{ parameters.version }}" } }
    - { id: ask, type: Approval, config: { message: "Ship {{ parameters.version }}? {{ steps.check.output.data.why }}", approvers: [ada, ben], timeout_seconds: 3600 } }
    - { id: ship, type: HTTP, config: { method: POST, url: "https://ci.example.com/deploy", headers: { Authorization: "Bearer \${TOKEN}" }, body: { version: "{{ parameters.version }}", n: 3 } }, retry: { attempts: 5 } }
    - { id: soak, type: Wait, config: { seconds: 600 } }
    - { id: told, type: Response, config: { text: "Shipped by {{ steps.ask.output.by }}" } }
    - { id: no, type: Response, config: { text: "Not shipped: {{ steps.ask.output.comment }}" } }
  connections:
    - { from: check, to: ask, when: 'steps.check.output.data.ok' }
    - { from: check, to: no, when: '!steps.check.output.data.ok' }
    - { from: ask, to: ship, when: approved }
    - { from: ask, to: no, when: denied }
    - { from: ship, to: soak }
    - { from: soak, to: told }
`;

it('a node may have the same successor for success and failure', async () => {
  const { flow, problems } = await readSpec(`  nodes:
    - { id: a, type: HTTP, config: { url: "http://127.0.0.1/" }, on_error: b }
    - { id: b, type: Response, config: { text: "{{ steps.a.state }}" } }
  connections: [{ from: a, to: b }]
`);
  expect(problems).toEqual([]);
  expect(flow?.nodes[0]?.on_error).toBe('b');
});

it('a flow is read with all settings of its nodes', async () => {
  const { flow, problems } = await readSpec(DEPLOY, { TOKEN: 's3cret-of-ann' });
  expect(problems).toEqual([]);
  expect(flow?.nodes.map(({ id, work }) => [id, work.type])).toEqual([
    ['check', 'Agent'],
    ['ask', 'Approval'],
    ['ship', 'HTTP'],
    ['soak', 'Wait'],
    ['told', 'Response'],
    ['no', 'Response'],
  ]);
  const [, , ship] = flow?.nodes ?? [];
  if (ship?.work.type !== 'HTTP') throw new Error('ship is not HTTP');
  expect(ship.work.headers.Authorization?.render({})).toBe('Bearer s3cret-of-ann');
  expect(ship.retry).toEqual({ attempts: 5, min_backoff_seconds: 1, max_backoff_seconds: 60, factor: 2 });
  expect(flow?.definition).toContain('Bearer ${TOKEN}');
  expect(flow?.definition).not.toContain('s3cret');
  expect(flow?.connections.map(({ when }) => when.kind)).toEqual([
    'expression',
    'expression',
    'approved',
    'denied',
    'always',
    'always',
  ]);
});

it.each([
  ['url: "http://127.0.0.1/{{ input }}"', true],
  ['url: "http://127.0.0.1/{{ input }}", allow_private: false', false],
  ['url: "{{ input }}", url_allow: [http://127.0.0.1/]', false],
  ['url: "{{ input }}", url_allow: [http://127.0.0.1/], allow_private: true', true],
  ['url: "\\n ${API}/{{ input }} "', true],
])(
  'an HTTP node may call private addresses if its URL host is literal or allow_private is set: %s',
  async (config, isAllowed) => {
    const { flow, problems } = await readSpec(`  nodes: [{ id: a, type: HTTP, config: { ${config} } }]\n`, {
      API: 'http://127.0.0.1',
    });
    expect(problems).toEqual([]);
    const [node] = flow?.nodes ?? [];
    if (node?.work.type !== 'HTTP') throw new Error('no HTTP');
    expect(node.work.allow_private).toBe(isAllowed);
    const input = node.work.url.hasLiteralHost ? 'x' : 'http://127.0.0.1/x';
    expect(node.work.url.render({ input }).href).toBe('http://127.0.0.1/x');
  },
);

it.each([
  ['url: "{{ input }}", url_allow: []', /can lead to any host/],
  ['url: "{{ input }}", url_allow: https://api.example.com/', /url_allow: /],
  ['url: "{{ input }}", url_allow: ["https://{{ input }}/"]', /url_allow\[0\]: is compared literally/],
  ['url: "{{ index }}"', /unknown variable: index/],
  ['url: "{{ {} }}", url_allow: [https://api.example.com/]', /returns map/],
])('an HTTP node with an unusable URL is refused: %s', async (config, message) => {
  const { flow, problems } = await readSpec(`  nodes: [{ id: a, type: HTTP, config: { ${config} } }]\n`);
  expect([flow, problems]).toEqual([undefined, [expect.stringMatching(message)]]);
});

it("the default input of an agent is the flow's input", async () => {
  const { flow } = await readSpec('  nodes: [{ id: a, type: agent, config: { agent: x } }]\n');
  const [node] = flow?.nodes ?? [];
  if (node?.work.type !== 'Agent') throw new Error('no Agent');
  expect(node.work.input.render({ input: 'hello' })).toBe('hello');
});

it('a loop has its own nodes, which can use outputs from before the loop', async () => {
  const { flow, problems } = await readSpec(`  nodes:
    - { id: list, type: Transform, config: { set: { names: [a, b] } } }
    - id: each
      type: Loop
      config:
        over: steps.list.output.names
        nodes:
          - { id: say, type: Response, config: { text: "{{ index + 1 }}. {{ item }} of {{ size(steps.list.output.names) }}" } }
          - { id: done, type: End, config: { output: "{{ item }}" } }
        connections: [{ from: say, to: done, when: index == 0 }]
  connections: [{ from: list, to: each }]
`);
  expect(problems).toEqual([]);
  const [, each] = flow?.nodes ?? [];
  expect(each?.work.type === 'Loop' && each.work.body.nodes.length).toBe(2);
});

const INLINE = `  nodes:
    - id: check
      type: Agent
      config: { spec: { model: "google:g" } }
    - id: each
      type: Loop
      config:
        over: "[1, 2]"
        nodes:
          - { id: ask, type: Agent, config: { spec: { model: "google:g" } } }
    - id: vote
      type: Fleet
      config:
        spec:
          agents: [{ name: a, agent: adaa }, { name: b, spec: { model: "google:g" } }]
          coordination: { mode: peer, aggregation: merge }
  connections: [{ from: check, to: each }, { from: each, to: vote }]
`;

it('agents and fleets may be inline in their nodes, also within loops', async () => {
  const { flow, problems } = await readSpec(INLINE);
  expect(problems).toEqual([]);
  const [check, each, vote] = flow?.nodes ?? [];
  expect(check?.work).toMatchObject({ agent: { name: 'deploy/check', runtime: { kind: 'model' } } });
  expect(each?.work).toMatchObject({ body: { nodes: [{ work: { agent: { name: 'deploy/each/ask' } } }] } });
  expect(vote?.work).toMatchObject({
    fleet: { name: 'deploy/vote', members: [{ agent: 'adaa' }, { agent: { name: 'deploy/vote/b' } }] },
  });
});

it('a problem of an inline agent or fleet is reported with its position', async () => {
  const spec = INLINE.replace(
    '- { id: ask, type: Agent, config: { spec: { model: ',
    '- { id: ask, type: Agent, config: { spec: { modle: ',
  ).replace('peer', 'swarm');
  const { flow, problems } = await readSpec(spec);
  expect(flow).toBeUndefined();
  expect(problems).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^14:55 spec.nodes\[1\].config.nodes\[0\].config.spec.modle: unknown key; did you mean model\?/,
      ),
      expect.stringMatching(/^20:33 spec.nodes\[2\].config.spec.coordination.mode: swarm is not supported/),
    ]),
  );
});

it('named agents, fleets and servers are checked, also within loops and inline fleets', async () => {
  const spec = INLINE.replace(
    '    - id: vote',
    `    - { id: t, type: Tool, config: { server: githup, tool: x } }
    - { id: f, type: Fleet, config: { fleet: revew } }
    - id: vote`,
  )
    .replace(
      'ask, type: Agent, config: { spec: { model: "google:g" } }',
      'ask, type: Agent, config: { agent: adaa }',
    )
    .replace('to: vote }]', 'to: vote }, { from: each, to: t }, { from: each, to: f }]');
  const mapOf = (...names: readonly string[]) => new Map(names.map((name) => [name, {} as never]));
  const knownResources = { agents: mapOf('ada'), fleets: mapOf('review'), servers: ['github'] };
  expect((await readSpec(spec, {}, knownResources)).problems).toEqual([
    '14:54 spec.nodes[1].config.nodes[0].config.agent: there is no agent adaa; did you mean ada?',
    '15:46 spec.nodes[2].config.server: there is no server githup; did you mean github?',
    '16:46 spec.nodes[3].config.fleet: there is no fleet revew; did you mean review?',
    '21:38 spec.nodes[4].config.spec.agents[0].agent: there is no agent adaa; did you mean ada?',
  ]);
  const all = { ...knownResources, agents: mapOf('adaa'), fleets: mapOf('revew') };
  expect((await readSpec(spec, {}, { ...all, servers: undefined })).problems).toEqual([]);
});

describe('the position of a flow problem', () => {
  const two = (more: string) => `  nodes:
    - { id: a, type: Transform, config: { set: { x: 1 } } }
    - { id: b, type: Response, config: { text: done } }
${more}`;

  it.each([
    [
      'a cycle',
      two('  connections: [{ from: a, to: b }, { from: b, to: a }]\n'),
      ['8:52 spec.connections[1].to: creates a cycle: a → b → a; use a Loop to repeat nodes'],
    ],
    [
      'an unknown node',
      two('  connections: [{ from: a, to: bb }, { from: a, to: b }]\n'),
      ['8:32 spec.connections[0].to: there is no node bb; did you mean b?'],
    ],
    [
      'an unconnected node',
      two('  connections: []\n'),
      ['6:13 spec.nodes[0].id: a has no connections', '7:13 spec.nodes[1].id: b has no connections'],
    ],
    [
      'a condition that is not a boolean',
      two('  connections: [{ from: a, to: b, when: "size(steps.a.output.x)" }]\n'),
      ['8:41 spec.connections[0].when: returns int, expected bool'],
    ],
    [
      'an unknown node in an expression',
      two('  connections: [{ from: a, to: b, when: "steps.aa.output.x > 1" }]\n'),
      ['8:42 spec.connections[0].when: there is no node aa; did you mean a?'],
    ],
    [
      'an unknown variable in an expression',
      two('  connections: [{ from: a, to: b, when: "true && stepz.a > 1" }]\n'),
      ['8:50 spec.connections[0].when: unknown variable: stepz'],
    ],
    [
      'a decision of a node other than Approval',
      two('  connections: [{ from: a, to: b, when: approved }]\n'),
      ['8:41 spec.connections[0].when: approved requires an Approval, and a is not an Approval'],
    ],
    [
      'an else before the last connection',
      two('  connections: [{ from: a, to: b, when: else }, { from: a, to: b }]\n'),
      [
        '8:64 spec.connections[1].to: a already leads to b; write a single connection, with || between the conditions',
        '8:49 spec.connections[1]: follows the else of a, which must be the last connection',
      ],
    ],
    [
      'the output of a later node',
      `  nodes:
    - { id: a, type: Response, config: { text: "x {{ steps.b.output }}" } }
    - { id: b, type: Transform, config: { set: { x: 1 } } }
  connections: [{ from: a, to: b }]
`,
      ['6:54 spec.nodes[0].config.text: b does not come before a'],
    ],
    [
      'an unknown parameter',
      '  parameters: [{ name: version }]\n  nodes: [{ id: a, type: Response, config: { text: "{{ parameters.verzion }}" } }]\n',
      ['6:56 spec.nodes[0].config.text: there is no parameter verzion; did you mean version?'],
    ],
    [
      'a script',
      '  nodes: [{ id: a, type: Script, config: { text: x } }]\n',
      ['5:26 spec.nodes[0].type: flows do not run programs: put it into a tool server, and use a Tool'],
    ],
    [
      'an unknown type',
      '  nodes: [{ id: a, type: Respons, config: { text: x } }]\n',
      ['5:26 spec.nodes[0].type: unknown type of node; did you mean Response?'],
    ],
    [
      'a template in shell syntax',
      '  nodes: [{ id: a, type: Response, config: { text: "${steps.x.output}" } }]\n',
      expect.arrayContaining([expect.stringContaining('or {{ steps.ID.output }} for the output of a node')]),
    ],
    [
      'an inline trigger',
      '  trigger: { type: Slack }\n  nodes: [{ id: a, type: Response, config: { text: x } }]\n',
      ['5:3 spec.trigger: must be a Trigger that refers to this flow: commands: { /NAME: { flow: NAME } }'],
    ],
    [
      'a missing agent, and a duplicate one',
      `  nodes:
    - { id: a, type: Agent, config: { input: x } }
    - { id: b, type: Agent, config: { agent: x, spec: { model: "google:g" } } }
  connections: [{ from: a, to: b }]
`,
      [
        '6:37 spec.nodes[0].config: needs agent: NAME, or spec with an agent inline',
        '7:39 spec.nodes[1].config.agent: contradicts spec, which has an agent inline',
      ],
    ],
    ['no nodes', '  timeout_seconds: 5\n', ['5:3 spec.nodes: should be a list of 1 to 100 nodes']],
    [
      'a template in an expression',
      two('  connections: [{ from: a, to: b, when: "{{ steps.a.output.x }}" }]\n'),
      ['8:41 spec.connections[0].when: is already an expression: remove {{ }}'],
    ],
    [
      'both seconds and until',
      '  nodes: [{ id: a, type: Wait, config: { seconds: 1, until: "2026-01-01T00:00:00Z" } }]\n',
      ['5:40 spec.nodes[0].config: needs either seconds or until'],
    ],
    [
      'an unknown key',
      '  nodes: [{ id: a, type: Response, config: { txt: x } }]\n',
      expect.arrayContaining([expect.stringContaining('unknown key; did you mean text?')]),
    ],
  ])('a flow problem is reported with its position: %s', async (_what, spec, expected) => {
    expect((await readSpec(spec)).problems).toEqual(expected);
  });
});

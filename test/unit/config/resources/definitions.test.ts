// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of files are written so.

import { expect, it } from 'vitest';
import { ConfigError } from '../../../../config/reader/problem.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { fleetDefinition, flowDefinition } from '../../../../config/resources/definitions.ts';
import { flowOf } from '../../../fixtures/automation/flow-files.ts';

const context = (env: Record<string, string> = {}) => ({
  ...{ name: 'f', file: '/flows/f.yaml', env },
  secrets: new SecretValues(),
});

it('R4 the definition of a flow gives the flow back, with the agents that are written in it', async () => {
  const flow = await flowOf(`  parameters: [{ name: version }]
  nodes:
    - { id: check, type: Agent, config: { spec: { model: "google:g" } } }
    - { id: ship, type: HTTP, config: { url: "https://ci.example.com/{{ parameters.version }}" } }
  connections: [{ from: check, to: ship, when: steps.check.output.data.ok }]
`);
  const read = await flowDefinition(flow.definition, context());
  expect(read).toMatchObject({ name: 'f', hash: flow.hash, definition: flow.definition });
  expect(read.nodes.map(({ id }) => id)).toEqual(['check', 'ship']);
  expect(read.nodes[0]?.work).toMatchObject({ agent: { name: 'f/check' } });
});

it.each(['http://127.0.0.1{{ input }}/', '{{ input }}'])(
  'a run of an earlier version with the url %s continues, and its node sends nothing',
  async (url) => {
    const spec = { nodes: [{ id: 'a', type: 'HTTP', config: { url } }] };
    const [node] = (await flowDefinition(JSON.stringify(spec), context())).nodes;
    if (node?.work.type !== 'HTTP') throw new Error('no HTTP');
    const { work } = node;
    expect(() => work.url.render({ input: 'http://127.0.0.1/' })).toThrow(/^url: /);
    expect(work.allow_private).toBe(false);
  },
);

it('R4 the definition of a fleet gives the fleet back', async () => {
  const spec = {
    agents: [{ name: 'a' }, { name: 'b', spec: { model: 'google:g' } }],
    coordination: { mode: 'pipeline' },
  };
  const read = await fleetDefinition(JSON.stringify(spec), context());
  expect(read).toMatchObject({ name: 'f', definition: JSON.stringify(spec) });
  expect(read.members).toMatchObject([{ agent: 'a' }, { agent: { name: 'f/b' } }]);
});

it('a definition with a variable that is not set any longer, and a text that is none, are told', async () => {
  const spec = {
    nodes: [{ id: 'a', type: 'HTTP', config: { url: 'https://a', headers: { a: '${TOKEN}' } } }],
  };
  await expect(flowDefinition(JSON.stringify(spec), context({ TOKEN: 't' }))).resolves.toBeDefined();
  await expect(flowDefinition(JSON.stringify(spec), context())).rejects.toThrow('TOKEN');
  for (const text of ['', '[]', 'null', '{']) {
    await expect(flowDefinition(text, context())).rejects.toBeInstanceOf(ConfigError);
    await expect(fleetDefinition(text, context())).rejects.toBeInstanceOf(ConfigError);
  }
});

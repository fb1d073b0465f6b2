// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.

import { expect, it } from 'vitest';
import { ConfigError } from '../../../../config/reader/problem.ts';
import { SecretValues } from '../../../../config/reader/secret-values.ts';
import { fleetDefinition, flowDefinition } from '../../../../config/resources/definitions.ts';
import { flowOf } from '../../../fixtures/automation/flow-files.ts';

const context = (env: Record<string, string> = {}) => ({
  name: 'f',
  file: '/flows/f.yaml',
  env,
  secrets: new SecretValues(),
});

it('the stored definition of a flow restores the same flow, with its inline agents (R4)', async () => {
  const flow = await flowOf(`  parameters: [{ name: version }]
  nodes:
    - { id: check, type: Agent, config: { spec: { model: "google:g" } } }
    - { id: ship, type: HTTP, config: { url: "https://ci.example.com/{{ parameters.version }}" } }
  connections: [{ from: check, to: ship, when: steps.check.output.data.ok }]
`);
  const restored = await flowDefinition(flow.definition, context());
  expect(restored).toMatchObject({ name: 'f', hash: flow.hash, definition: flow.definition });
  expect(restored.nodes.map(({ id }) => id)).toEqual(['check', 'ship']);
  expect(restored.nodes[0]?.work).toMatchObject({ agent: { name: 'f/check' } });
});

it.each(['http://127.0.0.1{{ input }}/', '{{ input }}'])(
  'a run of an earlier version with the URL %s continues, and its node sends nothing',
  async (url) => {
    const spec = { nodes: [{ id: 'a', type: 'HTTP', config: { url } }] };
    const [node] = (await flowDefinition(JSON.stringify(spec), context())).nodes;
    if (node?.work.type !== 'HTTP') throw new Error('no HTTP');
    const { work } = node;
    expect(() => work.url.render({ input: 'http://127.0.0.1/' })).toThrow(/^url: /);
    expect(work.allow_private).toBe(false);
  },
);

it('the stored definition of an agent fleet restores the same fleet (R4)', async () => {
  const spec = {
    agents: [{ name: 'a' }, { name: 'b', spec: { model: 'google:g' } }],
    coordination: { mode: 'pipeline' },
  };
  const restored = await fleetDefinition(JSON.stringify(spec), context());
  expect(restored).toMatchObject({ name: 'f', definition: JSON.stringify(spec) });
  expect(restored.members).toMatchObject([{ agent: 'a' }, { agent: { name: 'f/b' } }]);
});

it('a definition with an unset variable, and an invalid definition, are errors', async () => {
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

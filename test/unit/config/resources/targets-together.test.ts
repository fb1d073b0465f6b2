// Triggers, agents, fleets and flows beside each other: who is named has to be there, and what a flow takes its commands take.

import { describe, expect, test } from 'vitest';
import { ResourceFolder } from './resource-folder.ts';

const folder = new ResourceFolder();

const resource = (kind: string, name: string, spec: string) =>
  `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: { name: ${name} }\nspec: ${spec}\n`;

const agent = resource('Agent', 'echo', '{ runtime: { http: { url: "http://127.0.0.1:1" } } }');
const fleet = resource(
  'AgentFleet',
  'review',
  '{ agents: [{ name: a, agent: echo }], coordination: { mode: pipeline } }',
);
const flow = resource(
  'Flow',
  'deploy',
  `
  parameters: [{ name: version, required: true }]
  nodes:
    - { id: check, type: Agent, config: { agent: echo } }
    - { id: vote, type: Fleet, config: { fleet: review } }
    - { id: ask, type: Approval, config: { message: "ok?" } }
  connections: [{ from: check, to: vote }, { from: vote, to: ask }]`,
);
const trigger = (commands: string) =>
  resource('Trigger', 'ops', `{ type: Manual, config: {}, commands: ${commands} }`);

async function load(...documents: readonly string[]) {
  const loaded = await folder.load({ files: [folder.write('all.yaml', documents.join('---\n'))] });
  return { ...loaded, lines: loaded.lines.map((line) => line.replace(/^\S+ /, '')) };
}

const NOBODY =
  'only whoever has the API key may decide, and nobody is told: name approvers or an approval_channel';

describe('what a command leads to', () => {
  test('may be a fleet or a flow, whose parameters are those of the command', async () => {
    const { lines, triggers, fleets, flows } = await load(
      agent,
      fleet,
      flow,
      trigger('{ /deploy: { flow: deploy }, /review: { fleet: review } }'),
    );
    expect(lines).toEqual([`warning: spec.nodes[2].config: of what comes from trigger ops ${NOBODY}`]);
    expect(triggers[0]?.commands).toMatchObject([
      { target: { kind: 'flow', name: 'deploy' }, parameters: [{ name: 'version', required: true }] },
      { target: { kind: 'fleet', name: 'review' }, parameters: [] },
    ]);
    expect([fleets.length, flows.length]).toEqual([1, 1]);
  });

  test('changes the trigger where the parameters of the flow change', async () => {
    const hashOf = async (text: string) =>
      (await load(agent, fleet, text, trigger('{ /deploy: { flow: deploy } }'))).triggers[0]?.hash;
    expect(await hashOf(flow)).toBe(await hashOf(flow));
    expect(await hashOf(flow.replace('version', 'release'))).not.toBe(await hashOf(flow));
  });

  test('is told what it needs and what it does not take', async () => {
    const { lines } = await load(
      agent,
      fleet,
      flow.replace('message: "ok?"', 'message: "ok?", approvers: [ada]'),
      trigger('{ /deploy: { flow: deploy, parameters: [{ name: colour }] } }'),
    );
    expect(lines).toEqual([
      'spec.commands["/deploy"].parameters: flow deploy needs version, which is not among them',
      'warning: spec.commands["/deploy"].parameters: flow deploy has no parameter colour, and never sees it',
    ]);
  });

  test('that is not there is an error of the trigger, with what was meant', async () => {
    const { lines } = await load(agent, fleet, trigger('{ /a: { flow: deploy }, /b: { fleet: revew } }'));
    expect(lines).toEqual([
      'spec.commands["/a"].flow: there is no flow deploy',
      'spec.commands["/b"].fleet: there is no fleet revew; did you mean review?',
    ]);
  });
});

test('an agent that a fleet or a flow names and that has an error is not said to be missing', async () => {
  const { lines } = await load(agent.replace('http://', 'htp://'), fleet, flow);
  expect(lines).toEqual([expect.stringContaining('spec.runtime.http.url')]);
});

test('what is wrong with an agent that is written in a fleet leaves the fleet out', async () => {
  const { lines, fleets } = await load(
    resource(
      'Fleet',
      'own',
      '{ agents: [{ name: a, spec: { model: "nobody:m" } }], coordination: { mode: pipeline } }',
    ),
  );
  expect(lines).toEqual([expect.stringContaining('there is no provider nobody')]);
  expect(fleets).toEqual([]);
});

test('two of one name are told, in both spellings of their kind', async () => {
  const { lines } = await load(agent, fleet, fleet.replace('AgentFleet', 'Fleet'));
  expect(lines).toEqual([expect.stringContaining('there is a Fleet review already')]);
});

// References between triggers, agents, fleets and flows: targets must exist, and a command has the parameters
// of the flow.

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

const NO_APPROVER =
  'have no approver: only clients with the API key can decide, and no notification is sent; set approvers or an approval_channel';

describe('the target of a command', () => {
  test('may be a fleet or a flow, whose parameters become those of the command', async () => {
    const { lines, triggers, fleets, flows } = await load(
      agent,
      fleet,
      flow,
      trigger('{ /deploy: { flow: deploy }, /review: { fleet: review } }'),
    );
    expect(lines).toEqual([`warning: spec.nodes[2].config: events of trigger ops ${NO_APPROVER}`]);
    expect(triggers[0]?.commands).toMatchObject([
      { target: { kind: 'flow', name: 'deploy' }, parameters: [{ name: 'version', required: true }] },
      { target: { kind: 'fleet', name: 'review' }, parameters: [] },
    ]);
    expect([fleets.length, flows.length]).toEqual([1, 1]);
  });

  test('changes the hash of the trigger when the parameters of its flow change', async () => {
    const hashOf = async (text: string) =>
      (await load(agent, fleet, text, trigger('{ /deploy: { flow: deploy } }'))).triggers[0]?.hash;
    expect(await hashOf(flow)).toBe(await hashOf(flow));
    expect(await hashOf(flow.replace('version', 'release'))).not.toBe(await hashOf(flow));
  });

  test('is reported if parameters are missing or unknown', async () => {
    const { lines } = await load(
      agent,
      fleet,
      flow.replace('message: "ok?"', 'message: "ok?", approvers: [ada]'),
      trigger('{ /deploy: { flow: deploy, parameters: [{ name: colour }] } }'),
    );
    expect(lines).toEqual([
      'spec.commands["/deploy"].parameters: flow deploy requires version; add it',
      'warning: spec.commands["/deploy"].parameters: flow deploy has no parameter colour; it is ignored',
    ]);
  });

  test('is an error of the trigger if it does not exist, with a suggestion', async () => {
    const { lines } = await load(agent, fleet, trigger('{ /a: { flow: deploy }, /b: { fleet: revew } }'));
    expect(lines).toEqual([
      'spec.commands["/a"].flow: there is no flow deploy',
      'spec.commands["/b"].fleet: there is no fleet revew; did you mean review?',
    ]);
  });
});

test('an agent with an error is not reported as missing by a fleet or flow', async () => {
  const { lines } = await load(agent.replace('http://', 'htp://'), fleet, flow);
  expect(lines).toEqual([expect.stringContaining('spec.runtime.http.url')]);
});

test('a fleet with an invalid inline agent is not loaded', async () => {
  const { lines, fleets } = await load(
    resource(
      'Fleet',
      'own',
      '{ agents: [{ name: a, spec: { model: "nobody:m" } }], coordination: { mode: pipeline } }',
    ),
  );
  expect(lines).toEqual([expect.stringContaining('unknown provider nobody')]);
  expect(fleets).toEqual([]);
});

test('two resources with the same name are reported, even if their kinds are spelled Fleet and AgentFleet', async () => {
  const { lines } = await load(agent, fleet, fleet.replace('AgentFleet', 'Fleet'));
  expect(lines).toEqual([expect.stringContaining('duplicate Fleet review')]);
});

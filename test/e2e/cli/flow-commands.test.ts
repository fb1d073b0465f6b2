// Fleets and flows in the terminal, with the built program: on files alone, and with a running gateway.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually, startAutomation } from '../../fixtures/automation/automation.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const resource = (kind: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: 'example.com/v1', kind, metadata: { name }, spec });

const deploy = {
  description: 'Ships a version.',
  parameters: [
    { name: 'version', required: true, description: 'Version to ship.' },
    { name: 'to', default: 'staging' },
  ],
  nodes: [
    { id: 'check', type: 'Agent', config: { agent: 'checker', input: 'Check {{ parameters.version }}' } },
    {
      id: 'poll',
      type: 'Loop',
      config: {
        over: '[1, 2]',
        nodes: [
          { id: 'look', type: 'Transform', config: { set: { n: '{{ item }}' } } },
          { id: 'soak', type: 'Wait', config: { seconds: 0.3 } },
        ],
        connections: [{ from: 'look', to: 'soak' }],
      },
    },
    {
      id: 'told',
      type: 'Response',
      config: { text: 'Shipped {{ parameters.version }} to {{ parameters.to }}.' },
    },
    { id: 'no', type: 'Response', config: { text: 'Not shipped.' } },
  ],
  connections: [
    { from: 'check', to: 'poll', when: "steps.check.output.text == 'fine'" },
    { from: 'check', to: 'no', when: 'else' },
    { from: 'poll', to: 'told' },
  ],
};

const ship = {
  nodes: [
    { id: 'ask', type: 'Approval', config: { message: 'Ship it?', approvers: ['ada'] } },
    { id: 'rest', type: 'Wait', config: { seconds: 1 } },
    { id: 'told', type: 'Response', config: { text: 'By {{ steps.ask.output.by }}.' } },
  ],
  connections: [
    { from: 'ask', to: 'rest' },
    { from: 'rest', to: 'told' },
  ],
};

const both = {
  agents: [
    { name: 'one', agent: 'checker' },
    { name: 'two', agent: 'checker' },
  ],
  coordination: { mode: 'peer', aggregation: 'merge' },
};

const broken = { nodes: [{ id: 'no', type: 'End', config: { status: 'failed', output: 'it is broken' } }] };

/** Writes files of an agent that answers `fine`, two flows and a fleet. */
function writeFiles(): string {
  const folder = temporaryFolder();
  for (const name of ['agents', 'fleets', 'flows', 'scripts']) mkdirSync(join(folder, name));
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  write('scripts/checker.yaml', '- { answer: fine }');
  write('agents/checker.yaml', resource('Agent', 'checker', { model: 'scripted:../scripts/checker.yaml' }));
  write('fleets/both.yaml', resource('Fleet', 'both', both));
  write('flows/deploy.yaml', resource('Flow', 'deploy', deploy));
  write('flows/ship.yaml', resource('AgentFlow', 'ship', ship));
  write('flows/broken.yaml', resource('Flow', 'broken', broken));
  return folder;
}

const FILES = ['-f', 'agents', '-f', 'fleets', '-f', 'flows'];

describe('the commands on files, without a gateway', () => {
  let folder = '';
  beforeAll(() => {
    folder = writeFiles();
  });
  const run = (...args: string[]) => runMain([...args, ...FILES], { cwd: folder });

  test('validate counts and lists flows and fleets as JSON', async () => {
    expect(await run('validate')).toMatchObject({
      code: 0,
      stdout: '0 triggers, 1 agent, 1 fleet and 3 flows are valid\n',
    });
    const { fleets, flows } = JSON.parse((await run('validate', '--json')).stdout);
    expect(fleets).toEqual([{ name: 'both', file: join(folder, 'fleets/both.yaml') }]);
    expect(flows.map(({ name }: { name: string }) => name)).toEqual(['broken', 'deploy', 'ship']);
  });

  test('get lists fleets and flows, and shows the nodes of a flow', async () => {
    expect((await run('fleets')).stdout).toMatch(/^both {3}peer {2}one two {2}- +fleets\/both\.yaml$/m);
    const all = (await run('flows')).stdout;
    expect(all).toMatch(/^deploy +6 {2}version \[to\] {2}Ships a version\. +flows\/deploy\.yaml$/m);
    const output = (await run('flows', 'show', 'deploy')).stdout;
    expect(output).toMatch(/^parameter +version \(required\) Version to ship\.$/m);
    expect(output).toMatch(/^check +Agent +poll \(steps\.check\.output\.text == 'fine'\), no \(else\)$/m);
    expect(output).toMatch(/^poll\/look +Transform +soak$/m);
    const json = JSON.parse((await run('flows', 'show', 'deploy', '--json')).stdout);
    expect(json).toMatchObject({ name: 'deploy', nodes_count: 6, nodes: expect.any(Array) });
    const unknown = await run('flows', 'show', 'deply');
    expect([unknown.code, unknown.stderr]).toEqual([1, 'there is no flow "deply"; did you mean deploy?\n']);
  });

  test('graph draws a flow', async () => {
    const { code, stdout } = await run('flows', 'graph', 'deploy');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^---\ntitle: "deploy"\n---\nflowchart TD\n {2}n1\(\["check<br\/>Agent"\]\)\n/);
    expect(stdout).toContain('  subgraph n2 ["poll<br/>Loop"]\n    n2_1["look<br/>Transform"]\n');
    expect(JSON.parse((await run('flows', 'graph', 'deploy', '--json')).stdout).connections).toHaveLength(3);
    expect((await run('flows', 'graph', 'deply')).stderr).toBe(
      'there is no flow "deply"; did you mean deploy?\n',
    );
  });

  test('run flow prints the answer, also after a timed wait', async () => {
    const done = await run('flows', 'run', 'deploy', '--param', 'version=1.2.3', 'to=shop');
    expect(done).toEqual({ code: 0, stdout: 'Shipped 1.2.3 to shop.\n', stderr: '' });
    const json = await run('flows', 'run', 'deploy', '--param', 'version=2', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'flow', name: 'deploy', state: 'done' });
  });

  test('run flow reports missing and unknown parameters and an unknown flow', async () => {
    const missing = await run('flows', 'run', 'deploy');
    expect([missing.code, missing.stderr]).toEqual([
      2,
      'error: flow deploy needs\n --param version=… (Version to ship.)\n',
    ]);
    const unknown = await run('flows', 'run', 'deploy', '--param', 'verson=1');
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      'error: flow deploy has no parameter verson; did you mean version?\n',
    ]);
    expect(await run('flows', 'run', 'deploy', '--param', 'version')).toMatchObject({ code: 2 });
    const misspelled = await run('flows', 'run', 'deply', '--param', 'version=1');
    expect([misspelled.code, misspelled.stderr]).toEqual([
      1,
      'there is no flow "deply"; did you mean deploy?\n',
    ]);
  });

  test('run fleet prints the answer of the members, and requires an input', async () => {
    const done = await run('fleets', 'run', 'both', '--input', 'well?');
    expect(done).toMatchObject({ code: 0, stdout: '**one**\nfine\n\n**two**\nfine\n' });
    expect(await run('fleets', 'run', 'both')).toMatchObject({ code: 2 });
    expect((await run('fleets', 'run', 'boht', '--input', 'x')).stderr).toContain('did you mean both?');
  });

  test('run flow reports a failure, and reports that a run without a gateway cannot wait for people', async () => {
    const failed = await run('flows', 'run', 'broken');
    expect([failed.code, failed.stdout]).toEqual([1, '']);
    expect(failed.stderr).toMatch(/ is failed: flow broken: no: it is broken\n$/);
    const waitingRun = await run('flows', 'run', 'ship');
    expect([waitingRun.code, waitingRun.stderr]).toEqual([
      3,
      'waiting for approval of Ship it?, but this gateway stops with the command: "flows run ship" of a running gateway waits for people\n',
    ]);
  });
});

test('--check counts and lists fleets and flows', async () => {
  const folder = writeFiles();
  const spec = Object.fromEntries(
    ['agents', 'fleets', 'flows'].map((each) => [each, { directory: `./${each}` }]),
  );
  const config = writeConfiguration(folder, { settings: { spec } });
  const { code, stdout } = await runMain(['--config', config, '--check']);
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /\nwith 0 triggers, 1 agent, 1 fleet and 3 flows\n {2}checker {2}Agent {2}scripted:\S+\n {2}both {2}Fleet\n {2}broken {2}Flow\n {2}deploy {2}Flow\n {2}ship {2}Flow\n$/,
    ),
  ]);
  const json = JSON.parse((await runMain(['--config', config, '--check', '--json'])).stdout);
  expect(json).toMatchObject({ agents: ['checker'], fleets: ['both'], flows: ['broken', 'deploy', 'ship'] });
});

test('at a gateway a flow waits for people, is shown with all nodes, continues after the decision, and is listed', async () => {
  const folder = writeFiles();
  const spec = Object.fromEntries(
    ['agents', 'fleets', 'flows'].map((each) => [each, { directory: join(folder, each) }]),
  );
  const gateway = await startAutomation({ resources: [], settings: { spec } });
  const run = (...args: string[]) =>
    runMain([...args, '--url', gateway.url], { env: { GATEWAY_API_KEY: '' } });
  const flowRun = await run('flows', 'run', 'ship', '--json');
  const { id, approvals } = JSON.parse(flowRun.stdout) as { id: string; approvals: string[] };
  expect(flowRun.code).toBe(3);
  expect(flowRun.stderr).toContain(`"approvals approve ${approvals[0]}"`);
  const waiting = (await run('runs', 'show', id)).stdout;
  expect(waiting).toMatch(/^NODE +TYPE +STATE +BEGAN +TOOK +TRIES +REASON OR OUTPUT$/m);
  expect(waiting).toMatch(/^ask +Approval +waiting \(for approval, until .*Z\) +\d\d:\d\d:\d\dZ +- +1$/m);
  expect(waiting).toMatch(/^rest +Wait +idle +- +- +0$/m);
  expect(waiting).toMatch(/^ +\d+ {2}\S+ {2}ask {2}entered$/m);

  const following = run('flows', 'run', 'deploy', '--param', 'version=1');
  await run('approvals', 'approve', approvals[0] ?? '', '--as', 'ada');
  await eventually(async () => {
    const output = (await run('runs', 'show', id)).stdout;
    expect(output).toMatch(/^state +done$/m);
    expect(output).toMatch(/^ask +Approval +done .*"by":"ada"/m);
    expect(output).toMatch(/^rest +Wait +done /m);
    expect(output).toMatch(/ask {3}left .*→ rest/);
    expect(output).toMatch(/^answer\nBy ada\.$/m);
  });
  expect((await following).stdout).toBe('Shipped 1 to staging.\n');
  const events = await fetch(`${gateway.url}/flows/deploy/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ parameters: { version: 2 } }),
  });
  const parts = [...(await events.text()).matchAll(/^event: part\ndata: (.*)$/gm)].map(([, data = '']) => {
    const { part, kind } = JSON.parse(data) as { readonly part: string; readonly kind: string };
    return `${part} ${kind}`;
  });
  const lineOf = (n: number) => [
    ...['poll turn', `poll#${n}/look entered`, `poll#${n}/look left`],
    ...[`poll#${n}/soak entered`, `poll#${n}/soak parked`, `poll#${n}/soak left`],
  ];
  expect(parts).toEqual([
    ...['check entered', 'check left', 'poll entered', ...lineOf(1), ...lineOf(2)],
    ...['poll left', 'told entered', 'told left'],
  ]);
  await run('fleets', 'run', 'both', '--input', 'well?');
  const listed = (await run('runs', '--flow', 'ship')).stdout.trimEnd().split('\n');
  expect(listed).toHaveLength(2);
  expect(listed[1]).toMatch(/ done +flow {2}ship /);
  const fleet = JSON.parse((await run('runs', '--kind', 'fleet', '--json')).stdout).runs[0];
  expect(fleet).toMatchObject({ kind: 'fleet', name: 'both' });
  const members = (await run('runs', 'show', fleet.id)).stdout;
  expect(members).toMatch(/^one +done +\d\d:\d\d:\d\dZ .*fine$/m);
  expect(await run('runs', '--flow', 'ship', '--kind', 'flow')).toMatchObject({ code: 2 });
  expect((await run('flows', 'show', 'ship')).stdout).toMatch(/^ask +Approval +rest$/m);
  expect((await run('flows', 'graph', 'ship')).stdout).toContain('n1{{"ask<br/>Approval"}}');
  expect((await run('fleets')).stdout).toMatch(/^both {3}peer {2}one two/m);
});

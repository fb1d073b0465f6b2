import { rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AgentReply } from '../../../../../actors/agents/handlers/handler.ts';
import { ScriptedAgent } from '../../../../../actors/agents/handlers/scripted-agent.ts';
import { aContext } from '../../../../fixtures/automation/contexts.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { newFolder } from '../../../../fixtures/new-folder.ts';

const folder = newFolder('scripts-');

let count = 0;
function script(text: string): { agent: ScriptedAgent; file: string } {
  const file = join(folder, `${count++}.yaml`);
  writeFileSync(file, text);
  return { agent: new ScriptedAgent(file), file };
}
const contextWithoutAbort = aContext();

const rules = `
- match: { text: '(?i)HELLO' }
  answer: 'Hello in {{conversation}}.'
- match: { command: /deploy, event: push }
  answer: never
- match: { command: deploy }
  answer: 'Deploying {{ parameters.env }}{{parameters.none}} for {{agent}}.'
- match: { event: pull_request }
  answer: 'Thanks for #{{repo.pr.number}} of {{repo.repo}} ({{event.name}}, {{unknown.name}}).'
- match: { event: issues.opened }
  answer: 'Noted: {{input}}'
`;

test.each([
  ['a text that matches a pattern', { input: 'oh, hello!' }, 'Hello in repohost/acme/site#7.'],
  [
    'a command',
    { command: 'deploy', parameters: { env: 'production' } },
    'Deploying production for reviewer.',
  ],
  ['a command with its slash', { command: '/deploy' }, 'Deploying  for reviewer.'],
  ['an event by the first part of its name', {}, 'Thanks for #7 of acme/site (pull_request.opened, ).'],
  ['an event by its name', { event: { ...aJob().event, name: 'issues.opened' } }, 'Noted: please review'],
  ['an event without a rule with empty text', { event: { ...aJob().event, name: 'issues.closed' } }, ''],
])('a scripted agent replies to %s', async (_, job, text) => {
  expect(await script(rules).agent.run(aJob(job), contextWithoutAbort)).toEqual({ text });
});

test('a scripted agent expands no placeholders in inserted values, and none with the name of an inherited property', async () => {
  const { agent } = script(`- answer: '{{input}} {{constructor}} {{parameters.toString}}'`);
  const answer = await agent.run(
    aJob({ input: '{{agent}} $& $1', parameters: Object.create(null) }),
    contextWithoutAbort,
  );
  expect((answer as AgentReply).text.trim()).toBe('{{agent}} $& $1');
});

describe('a rule of a scripted agent', () => {
  test('may have a title, fields and actions with placeholders', async () => {
    const { agent } = script(`
- answer: 'Ready?'
  title: 'For {{agent}}'
  fields: [{ name: Text, value: '{{input}}' }]
  actions: [{ id: 'ship {{command}}', title: Ship, style: danger }]
`);
    expect(await agent.run(aJob({ input: 'a word', command: 'it' }), contextWithoutAbort)).toEqual({
      text: 'Ready?',
      data: {
        title: 'For reviewer',
        fields: [{ name: 'Text', value: 'a word' }],
        actions: [{ id: 'ship it', title: 'Ship', style: 'danger' }],
      },
    });
  });

  test('may fail the first attempts', async () => {
    const { agent } = script('- { answer: well, fail: 2 }');
    for (const attempt of [1, 2])
      await expect(agent.run(aJob({ attempt }), contextWithoutAbort)).rejects.toMatchObject({
        code: 'ERR_HANDLER',
        isFinal: false,
      });
    expect(await agent.run(aJob({ attempt: 3 }), contextWithoutAbort)).toEqual({ text: 'well' });
  });

  test('may make its event wait for wait_ms and reply afterwards', async () => {
    const { agent } = script('- { answer: well, wait_ms: 60000 }');
    const parked = await agent.run(aJob(), contextWithoutAbort);
    expect(parked).toMatchObject({
      parkedOn: expect.stringContaining(aJob().idempotencyKey),
      wakeInMs: 60_000,
    });
    const woken = { id: 'timer:1', kind: 'timer', meta: '', body: new Uint8Array() };
    expect(await agent.run(aJob(), aContext({ waker: woken }))).toEqual({ text: 'well' });
  });

  test('may delay its reply, and the delay can be aborted', async () => {
    const { agent } = script('- { answer: well, delay_ms: 50 }');
    const began = performance.now();
    expect(await agent.run(aJob(), contextWithoutAbort)).toEqual({ text: 'well' });
    expect(performance.now() - began).toBeGreaterThan(45);
    await expect(agent.run(aJob(), aContext({ signal: AbortSignal.timeout(5) }))).rejects.toMatchObject({
      code: 'ERR_HANDLER',
    });
  });
});

test('a scripted agent reloads a changed script', async () => {
  const { agent, file } = script('- answer: before');
  expect(await agent.run(aJob(), contextWithoutAbort)).toEqual({ text: 'before' });
  writeFileSync(file, '- answer: and after');
  await expect
    .poll(() => agent.run(aJob(), contextWithoutAbort), { timeout: 10_000 })
    .toEqual({ text: 'and after' });
});

test('a scripted agent keeps the last valid rules while the script is invalid or missing', async () => {
  const { agent, file } = script('- answer: before');
  const isAsBefore = async () =>
    expect(await agent.run(aJob(), contextWithoutAbort)).toEqual({ text: 'before' });
  await isAsBefore();
  for (const spoil of [() => writeFileSync(file, ''), () => rmSync(file)]) {
    spoil();
    // Longer than the interval at which the file is checked for changes.
    const until = performance.now() + 1_200;
    while (performance.now() < until) {
      await isAsBefore();
      await sleep(100);
    }
    await isAsBefore();
  }
  writeFileSync(file, '- answer: and after');
  await expect
    .poll(() => agent.run(aJob(), contextWithoutAbort), { timeout: 10_000 })
    .toEqual({ text: 'and after' });
});

test.each([
  ['that is empty', '', /the file is empty/],
  ['that is not a list', 'answer: x', /list of rules/],
  ['with an unknown field', '- { answer: x, delay: 3 }', /rule 1: unknown field delay/],
  [
    'with an unknown condition',
    '- { answer: x }\n- { answer: x, match: { word: a } }',
    /rule 2: unknown field word/,
  ],
  ['with actions that are not a list', '- { answer: x, actions: ship }', /rule 1: actions should be a list/],
  ['with an action without id', '- { answer: x, actions: [{ title: Ship }] }', /actions\[0\] should have id/],
  [
    'with an unknown member of a field',
    '- { answer: x, fields: [{ name: a, value: b, at: c }] }',
    /fields\[0\] has no field at/,
  ],
  ['without an answer', '- { match: { text: a } }', /answer should be a text/],
  ['with an invalid delay', '- { answer: x, delay_ms: soon }', /delay_ms should be a number/],
  [
    'with an invalid pattern',
    `- { answer: x, match: { text: '(' } }`,
    /rule 1: match.text is not a regular expression/,
  ],
  ['that is not YAML', '- {', /line 1, column 4: YAML syntax/],
])(
  'a script %s fails only the current attempt, with the reason; the event is retried',
  async (_, text, message) => {
    const { agent, file } = script(text);
    const running = agent.run(aJob(), contextWithoutAbort);
    await expect(running).rejects.toMatchObject({ code: 'ERR_HANDLER', isFinal: false });
    await expect(running).rejects.toThrow(`cannot use the script ${basename(file)}: `);
    await expect(running).rejects.toThrow(message);
    writeFileSync(file, '- answer: well');
    expect(await agent.run(aJob({ attempt: 2 }), contextWithoutAbort)).toEqual({ text: 'well' });
  },
);

test('the error for a missing script contains the file name without its folder', async () => {
  const running = new ScriptedAgent(join(folder, 'none.yaml')).run(aJob(), contextWithoutAbort);
  await expect(running).rejects.toMatchObject({
    code: 'ERR_HANDLER',
    isFinal: false,
    message: 'cannot use the script none.yaml: the file does not exist',
  });
});

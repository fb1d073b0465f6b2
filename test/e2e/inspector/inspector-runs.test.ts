// Runs and agents in the inspector: the page in a real browser, the built program, journals in its store.

import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  agent,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
} from '../../fixtures/automation/automation.ts';
import {
  answerRow,
  askedRow,
  begunRow,
  resultRow,
  storeRuns,
  toolApproval,
} from '../../fixtures/automation/stored-runs.ts';
import { ask, EventReader } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

/** Markup injected by a model, a tool or a person. */
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>"\'`{{1}}';
const SECRET = 'a key that nobody may see';
const LONG = 'word '.repeat(2_000);

/** Continues a held stream. */
let sendMore: () => void = () => {};

async function* growing() {
  yield `data: ${JSON.stringify({ text: `One, ${HOSTILE} ` })}`;
  await new Promise<void>((resolve) => {
    sendMore = resolve;
  });
  yield 'data: {"text":"two."}';
}

/** Fillers, blanks, tags, joiners and marks of the text direction, which no reader sees. */
const UNSEEN = '\u3164\u115f\u2800\u00a0\u200b\u2060\ufe0f\u00ad\u061c\u{e0041}\u0085';
const UNSEEN_CHARACTER = new RegExp([...UNSEEN, '\u202e'].join('|'), 'u');

const paid = {
  yes: { to: HOSTILE, key: SECRET, hidden: `\u202etxt.exe${UNSEEN}` },
  no: { to: 'bob' },
  long: { to: 'x'.repeat(30_000) },
  left: { to: 'carl' },
};
const approvalId = (name: string) =>
  `0a0a0a0a-0000-4000-8000-0000000000${String(Object.keys(paid).indexOf(name)).padStart(2, '0')}`;

let gateway: GatewayProcess;
let models: ModelServer;
beforeAll(async () => {
  const folder = temporaryFolder();
  models = await ModelServer.start();
  const program = await startAgent(() => ({ stream: growing() }));
  writeFileSync(join(folder, 'desk.yaml'), JSON.stringify([{ answer: 'Never said.', delay_ms: 60_000 }]));
  await storeRuns(folder, [
    ...['yes', 'no', 'long', 'left'].map((name) => ({
      id: `pays-${name}`,
      agent: 'shop',
      rows: [begunRow('Pay.'), askedRow(approvalId(name))],
      outcome: 'parked' as const,
      asks: [
        toolApproval(approvalId(name), paid[name as keyof typeof paid], {
          title: `shop/pay${UNSEEN}`,
          requestedBy: { platform: 'ChatWorkspace', user: `U1${UNSEEN}`, aliases: [`ada${UNSEEN}`] },
        }),
      ],
    })),
    {
      id: 'http:orders/1 %2F',
      agent: 'oncall',
      rows: [
        begunRow(`Look at ${HOSTILE}`),
        answerRow(1, 'I look.', [
          { id: 'c1', name: 'read_file', input: `{"path":"${HOSTILE.replaceAll('"', '')}"}` },
        ]),
        { kind: 'called', id: 'c1' },
        resultRow('c1', `${SECRET} ${LONG}`),
        answerRow(2, HOSTILE),
        { kind: 'ended', text: HOSTILE },
      ],
      figures: {
        model: 'local:tiny',
        iterations: 2,
        tool_calls: 1,
        input_tokens: 2_400,
        output_tokens: 68,
        cost: 0.0084,
      },
      outcome: 'done',
    },
    {
      id: 'r-failed',
      agent: HOSTILE,
      rows: [begunRow('Fail.')],
      outcome: 'dead',
      note: 'local:tiny answered 401',
    },
  ]);
  gateway = await startAutomation({
    folder,
    env: { TOOL_SECRET: SECRET },
    servers: { echo: fault('echo') },
    settings: {
      inspector: { commands: true },
      providers: { local: { base_url: `${models.url}/v1` } },
      prices: { 'local:tiny': { input: 1_000, output: 10_000 } },
    },
    resources: [
      httpAgent('clerk', program.url),
      agent('helper', {
        model: 'local:tiny',
        mcp_servers: [
          { name: 'api', command: process.execPath, args: [resolve('test/fixtures/servers/api-server.mjs')] },
        ],
      }),
      agent('desk', { model: 'scripted:../desk.yaml' }),
      agent('oncall', {
        model: 'ollama:tiny',
        description: HOSTILE,
        mcp_servers: [
          'echo',
          { name: 'own', command: 'node', args: ['-e', '0'], env: { KEY: `\${TOOL_SECRET}` } },
        ],
      }),
    ],
  });
});

const began = async (name: string, input: string): Promise<string> => {
  const answer = await ask(`${gateway.url}/agents/${name}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });
  return answer.json.id;
};
const viewOf = (id: string) =>
  `${gateway.url}/inspector/view/~runs/${encodeURIComponent(id.replace(/[%/]/g, encodeURIComponent))}/details`;
const steps = (page: Page) => page.locator('.steps > .step');
const titleOf = (page: Page) => page.title();

async function open() {
  const opened = await openPage();
  opened.page.setDefaultTimeout(30_000);
  return opened;
}

describe('runs in the inspector', () => {
  test('are listed with statistics, and shown with their steps as plain text', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector`);
    await page.getByRole('link', { name: 'Runs' }).click();
    expect(new URL(page.url()).pathname).toBe('/inspector/view/~runs/details');
    const lines = page.locator('ul.records > li');
    await lines.nth(1).waitFor();
    expect(await lines.nth(0).locator('a').textContent()).toBe(HOSTILE);
    expect(await lines.nth(0).locator('.pill').textContent()).toBe('failed');
    expect(await lines.nth(0).locator('.note').textContent()).toBe('local:tiny answered 401');
    expect(await lines.nth(1).textContent()).toMatch(
      /oncall.*done.*local:tiny · agent\/oncall · 6 steps · 2 model calls · 1 tool call · 2468 tokens · cost 0\.0084/,
    );
    await lines.nth(1).locator('a').click();
    expect(page.url()).toBe(viewOf('http:orders/1 %2F'));
    await steps(page).nth(4).waitFor();
    expect(await page.locator('#run .figures').textContent()).toContain('tokens in2400');
    expect(await steps(page).locator('.head span:not(.aside):not(.pill)').allTextContents()).toEqual([
      ...['request', 'response 1', 'tool', 'response 2', 'ended'],
    ]);
    expect(await steps(page).nth(1).textContent()).toContain(
      '1200 tokens in, 34 out · cost 0.0042 · took 812 ms',
    );
    const call = steps(page).nth(2);
    expect(await call.locator('.pill').textContent()).toBe('done');
    await call.locator('summary', { hasText: 'result' }).press('Enter');
    const result = await call.locator('details[open] pre').textContent();
    expect([result?.startsWith('[redacted] word'), (result?.length ?? 0) < 2_100]).toEqual([true, true]);
    expect(await steps(page).nth(3).locator('pre').textContent()).toBe(HOSTILE);
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    // The link leads to the same view.
    await page.reload();
    await steps(page).nth(4).waitFor();
    expect(await titleOf(page)).toContain('run');
    expect(complaints).toEqual([]);
  });

  test('can be filtered by state and agent', async () => {
    const { page } = await open();
    await page.goto(`${gateway.url}/inspector/view/~runs/details`);
    const lines = page.locator('ul.records > li');
    await lines.nth(1).waitFor();
    await page.getByLabel('State').selectOption('done');
    await eventually(async () => expect(await lines.locator('a').allTextContents()).toEqual(['oncall']));
    await page.getByLabel('State').selectOption('queued');
    await page.locator('.empty', { hasText: 'No runs match the filter' }).waitFor();
    await page.getByLabel('State').selectOption('');
    await page.getByLabel('Agent').selectOption('oncall');
    await eventually(async () => expect(await lines.locator('a').allTextContents()).toEqual(['oncall']));
  });

  test('show the growing text of an answer, and then the final answer', async () => {
    const id = await began('clerk', 'count');
    const { page, complaints } = await open();
    await page.goto(viewOf(id));
    await page.locator('.step.live pre', { hasText: 'One, <img' }).waitFor();
    expect(await page.locator('#run h1').textContent()).toBe('clerk');
    sendMore();
    await page.locator('.step:not(.live) pre', { hasText: /^One, .* two\.$/ }).waitFor();
    expect(await page.locator('.step.live').count()).toBe(0);
    expect(await page.locator('#run .pill').first().textContent()).toBe('done');
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('can be cancelled and resumed with buttons, by the keyboard, if commands are allowed', async () => {
    const id = await began('desk', 'slow');
    const { page } = await open();
    await page.goto(viewOf(id));
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await page.locator('#run .pill', { hasText: 'cancelled' }).waitFor();
    await page.getByRole('button', { name: 'Retry from the last step' }).press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).waitFor();
    expect((await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`)).json.state).toMatch(/queued|running/);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('#run .pill', { hasText: 'cancelled' }).waitFor();
    const secondResponse = await ask(`${gateway.url}/inspector/api/runs/${encodeURIComponent(id)}/cancel`, {
      method: 'POST',
    });
    expect([secondResponse.status, secondResponse.json.message]).toEqual([
      409,
      expect.stringContaining('cancelled'),
    ]);
    for (const path of ['runs/x/cancel', 'runs/x/stop', 'runs', 'agents/desk/cancel', 'agents/desk/runs'])
      expect((await ask(`${gateway.url}/inspector/api/${path}`, { method: 'POST' })).status).toBe(404);
  });

  test('that do not exist are reported, and the page is readable on a narrow screen', async () => {
    const { page } = await openPage({ viewport: { width: 390, height: 800 }, colorScheme: 'dark' });
    await page.goto(viewOf('http:orders/1 %2F'));
    await steps(page).nth(4).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    await page.goto(viewOf('nobody'));
    await page.locator('.empty', { hasText: 'there is no run "nobody"' }).waitFor();
  });

  test('are available in the JSON API and as an event stream, without secrets', async () => {
    const { json } = await ask(`${gateway.url}/inspector/api/runs?limit=5&agent=oncall`);
    expect(json).toMatchObject({
      next_before: null,
      runs: [{ id: 'http:orders/1 %2F', usage: { cost: 0.0084 } }],
    });
    const id = encodeURIComponent('http:orders/1 %2F');
    const path = `${gateway.url}/inspector/runs/${id}`;
    expect((await ask(`${gateway.url}/inspector/api/runs/${id}`)).json).toMatchObject({
      steps_count: 6,
      next_after: null,
    });
    expect((await ask(`${gateway.url}/inspector/api/runs?state=ended`)).status).toBe(400);
    expect((await ask(`${path}/feeds/x`)).status).toBe(404);
    expect((await ask(`${gateway.url}/inspector/runs/nobody/feed`)).status).toBe(404);
    const feed = new EventReader(`${path}/feed`, {});
    await feed.until('the last step', () => feed.text.includes('"kind":"ended"') || undefined);
    expect(feed.text).not.toContain(SECRET);
    feed.drop();
  });
});

describe('approvals in the inspector', () => {
  const item = (page: Page, name: string) => page.locator(`[data-approval="${approvalId(name)}"]`);

  test('show the exact call, and are decided once with a comment', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector`);
    await page.locator('nav .chip', { hasText: '4' }).waitFor();
    await page.getByRole('link', { name: 'Approvals' }).click();
    const question = item(page, 'yes');
    await question.waitFor();
    expect(await question.textContent()).toContain('may be decided by ada, or an operator');
    const call = JSON.parse((await question.locator('pre').textContent()) ?? '');
    expect(call).toEqual({ ...paid.yes, key: '[redacted]' });
    // Invisible characters are escaped.
    expect(await question.locator('pre').textContent()).toContain('\\u202etxt.exe\\u3164\\u115f');
    expect(await question.textContent()).toMatch(/shop\/pay\\u3164[\s\S]*(?:U1|ada)\\u3164/);
    expect(await question.textContent()).not.toMatch(UNSEEN_CHARACTER);
    expect(await page.locator('#page img, #page script').count()).toBe(0);

    await question.getByLabel('Comment on the decision').fill(`Go.${UNSEEN} ${HOSTILE}`);
    await question.getByRole('button', { name: 'Approve' }).press('Enter');
    await question.locator('.pill', { hasText: 'approved' }).waitFor();
    expect(await question.textContent()).toContain(`approved by an operator (inspector)`);
    expect(await question.textContent()).toMatch(/Go\.\\u3164/);
    expect(await question.textContent()).toContain(HOSTILE);
    expect(await question.textContent()).not.toMatch(UNSEEN_CHARACTER);
    const path = `/approvals/${approvalId('yes')}`;
    for (const address of [
      path,
      `${path}?view=brief`,
      '/approvals?state=approved',
      `/inspector/api${path}`,
    ]) {
      const { text, json } = await ask(`${gateway.url}${address}`);
      expect([address, text]).toEqual([address, expect.not.stringMatching(UNSEEN_CHARACTER)]);
      expect(text).toContain('\\u3164');
      if (address === path) expect(json).toMatchObject({ tool: { arguments: { hidden: paid.yes.hidden } } });
    }

    await item(page, 'no').getByRole('button', { name: 'Deny' }).click();
    await item(page, 'no').locator('.pill', { hasText: 'denied' }).waitFor();
    // The run was resumed, and the approval is no longer pending.
    await eventually(async () => {
      const woken = (await ask(`${gateway.url}/runs/pays-yes`)).json;
      expect(woken.waiting_for).toBeNull();
    });
    expect(complaints).toEqual([]);
    const secondResponse = await ask(`${gateway.url}/inspector/api/approvals/${approvalId('yes')}/deny`, {
      method: 'POST',
    });
    expect([secondResponse.status, secondResponse.json.message]).toEqual([
      409,
      expect.stringContaining('the first decision counts'),
    ]);
  });

  test('cannot be approved if the call is too long to be shown whole, but can be denied', async () => {
    const { page } = await open();
    await page.goto(`${gateway.url}/inspector/view/~approvals/details`);
    const question = item(page, 'long');
    await question.locator('.note').waitFor();
    expect(await question.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    const path = `${gateway.url}/inspector/api/approvals/${approvalId('long')}`;
    expect((await ask(`${path}/approve`, { method: 'POST' })).status).toBe(409);
    expect((await ask(`${path}/deny`, { method: 'POST' })).json).toMatchObject({
      state: 'denied',
      comment: null,
    });
  });

  test('stay pending if a decision with an unknown id or an invalid body is refused', async () => {
    const decide = (id: string, body: string) =>
      ask(`${gateway.url}/inspector/api/approvals/${id}/approve`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
    expect((await decide('nobody', '{}')).status).toBe(404);
    for (const body of ['{', '{"comment":1}', JSON.stringify({ comment: 'x'.repeat(2_001) })])
      expect((await decide(approvalId('left'), body)).status).toBe(400);
    const list = async (query: string) => ask(`${gateway.url}/inspector/api/approvals?${query}`);
    const pending = [expect.objectContaining({ id: approvalId('left') })];
    expect((await list('state=pending')).json).toEqual({ approvals: pending, next_before: null });
    const newest = (await list('limit=1')).json;
    expect([newest.approvals.length, typeof newest.next_before]).toEqual([1, 'string']);
    expect((await list('limit=0')).status).toBe(400);
  });
});

describe('agents in the inspector', () => {
  test('show model, servers and runs', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~agents/details`);
    const line = page.locator('[data-agent="oncall"]');
    await line.waitFor();
    expect(await line.textContent()).toContain(HOSTILE);
    expect(await line.textContent()).toMatch(
      /ollama:tiny.*echo from the catalog .*own own server not started/,
    );
    expect(await page.locator('[data-agent="clerk"]').textContent()).toContain('HTTP');
    await page.locator('[data-agent="clerk"]', { hasText: '1 response since the start' }).waitFor();
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    await line.getByRole('link', { name: 'echo' }).click();
    expect(await page.locator('h1').textContent()).toBe('echo');
    await page.goBack();
    await line.getByRole('button', { name: 'Show runs' }).click();
    await page.locator('ul.records > li', { hasText: 'oncall' }).waitFor();
    expect(await page.getByLabel('Agent').inputValue()).toBe('agent oncall');
    expect(complaints).toEqual([]);
  });
});

describe('the run of a model agent in the inspector', () => {
  test('is shown step by step while it runs, with the servers of the agent', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~runs/details`);
    models.reply(
      {
        text: 'I look.',
        calls: [{ name: 'echo', input: { text: HOSTILE } }],
        usage: { input: 10, output: 5 },
      },
      { text: ['It says ', HOSTILE], usage: { input: 20, output: 4 } },
    );
    await began('helper', 'what does it say?');
    await page.locator('ul.records a', { hasText: 'helper' }).click();
    await steps(page).nth(4).waitFor();
    expect(await steps(page).locator('.head span:not(.aside):not(.pill)').allTextContents()).toEqual([
      ...['request', 'response 1', 'tool', 'response 2', 'ended'],
    ]);
    expect(await steps(page).nth(2).locator('.pill').textContent()).toBe('done');
    expect(await steps(page).nth(3).locator('pre').textContent()).toBe(`It says ${HOSTILE}`);
    await page.locator('#run .figures', { hasText: /tokens in30tokens out9cost0\.12/ }).waitFor();
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    await page.getByRole('link', { name: 'Agents' }).click();
    const line = page.locator('[data-agent="helper"]');
    await line.waitFor();
    expect(await line.textContent()).toMatch(
      /1 response since the start · 2 model calls · 1 tool call .*api own server/,
    );
    await line.getByRole('link', { name: 'api' }).click();
    expect(await page.locator('h1').textContent()).toBe('helper/api');
    await page.locator('.box.active').first().waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('the inspector of a gateway without runs', () => {
  test('explains how to start a run, and has no buttons unless commands are allowed', async () => {
    const empty = await startAutomation({ resources: [httpAgent('desk', 'http://127.0.0.1:9/')] });
    const { page } = await open();
    await page.goto(`${empty.url}/inspector/view/~runs/details`);
    await page.locator('#no-runs', { hasText: 'actor-gateway agents run NAME' }).waitFor();
    await page.getByRole('link', { name: 'Approvals' }).click();
    await page.locator('#no-approvals').waitFor();
    await page.locator('.bar', { hasText: 'inspector.commands: true' }).waitFor();
    const refusal = await ask(`${empty.url}/inspector/api/runs/x/cancel`, { method: 'POST' });
    expect([refusal.status, refusal.json.message]).toEqual([
      403,
      expect.stringContaining('inspector.commands'),
    ]);
    const plain = await startGateway({ servers: { echo: fault('echo') } });
    await page.goto(`${plain.url}/inspector/view/~runs/details`);
    await page.locator('.empty', { hasText: 'This gateway has no agents' }).first().waitFor();
    expect((await ask(`${plain.url}/inspector/api/runs`)).status).toBe(404);
  });
});

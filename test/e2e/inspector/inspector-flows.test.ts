// Fleets and flows in the inspector: the page in a real browser, the built program, live runs.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  agent,
  eventually,
  fleet,
  flow,
  startAgent,
  startAutomation,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

/** Markup injected by a model or a person. */
const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
const SECRET = 'a key that nobody may see';

/** A flow with all node outcomes. */
const shipping = {
  description: 'Checks, asks, waits, checks again, and reports.',
  parameters: [{ name: 'version', required: true }],
  nodes: [
    {
      id: 'check',
      type: 'Agent',
      description: 'Looks at it.',
      config: { agent: 'checker', input: 'Check {{ parameters.version }}' },
    },
    {
      id: 'ask',
      type: 'Approval',
      config: { message: 'Ship {{ parameters.version }}?', approvers: ['ada'], timeout_seconds: 3_600 },
    },
    {
      id: 'poll',
      type: 'Loop',
      config: {
        over: '["one", "two", "three"]',
        nodes: [
          { id: 'look', type: 'Agent', config: { agent: 'desk', input: '{{ item }}' } },
          { id: 'rare', type: 'Transform', config: { set: { never: '1' } } },
          { id: 'note', type: 'Transform', config: { set: { saw: '{{ steps.look.output.text }}' } } },
        ],
        connections: [
          { from: 'look', to: 'note' },
          { from: 'look', to: 'rare', when: 'item == "nothing"' },
        ],
      },
    },
    {
      id: 'hook',
      type: 'HTTP',
      config: { method: 'POST', url: 'http://127.0.0.1:9/', headers: { 'x-key': `\${TOOL_SECRET}` } },
      retry: { attempts: 1 },
      on_error: 'mend',
    },
    {
      id: 'mend',
      type: 'Transform',
      config: { set: { key: `\${TOOL_SECRET}`, why: '{{ steps.hook.error }}' } },
    },
    { id: 'soak', type: 'Wait', config: { seconds: 600 } },
    { id: 'told', type: 'Response', config: { text: 'Shipped.' } },
    { id: 'no', type: 'Response', config: { text: 'Not shipped.' } },
  ],
  connections: [
    { from: 'check', to: 'ask' },
    { from: 'ask', to: 'poll', when: 'approved' },
    { from: 'ask', to: 'no', when: 'denied' },
    { from: 'poll', to: 'hook' },
    { from: 'hook', to: 'told' },
    { from: 'mend', to: 'soak' },
    { from: 'soak', to: 'told' },
  ],
};

let gateway: GatewayProcess;
let models: ModelServer;
let vote: () => void = () => {};

beforeAll(async () => {
  const folder = temporaryFolder();
  models = await ModelServer.start();
  models.answerWith(() => ({ text: `Looks good. ${HOSTILE} ${SECRET}` }));
  const slow = await startAgent(async () => {
    await new Promise<void>((resolve) => {
      vote = resolve;
    });
    return { text: 'No.', data: { data: { verdict: 'wait' } } };
  });
  writeFileSync(join(folder, 'desk.yaml'), JSON.stringify([{ answer: 'Saw {{input}}.', delay_ms: 500 }]));
  writeFileSync(join(folder, 'yes.yaml'), JSON.stringify([{ answer: 'Yes.', data: { verdict: 'ship' } }]));
  gateway = await startAutomation({
    folder,
    env: { TOOL_SECRET: SECRET },
    settings: {
      inspector: { commands: true },
      providers: { local: { base_url: `${models.url}/v1` } },
    },
    resources: [
      flow('shipping', shipping),
      flow('voting', {
        nodes: [{ id: 'review', type: 'Fleet', config: { fleet: 'review', input: 'Look.' } }],
        connections: [],
      }),
      fleet('review', {
        agents: [
          { name: 'ada', agent: 'yes', weight: 2 },
          { name: 'ben', agent: 'slow', weight: 2 },
          { name: 'carl', agent: 'yes' },
        ],
        coordination: { mode: 'peer', consensus: { field: 'verdict', algorithm: 'unanimous' } },
      }),
      agent('checker', { model: 'local:tiny' }),
      agent('desk', { model: 'scripted:../desk.yaml' }),
      agent('yes', { model: 'scripted:../yes.yaml' }),
      agent('slow', { runtime: { http: { url: slow.url } } }),
    ],
  });
});

const began = async (target: string, body: object): Promise<string> => {
  const answer = await ask(`${gateway.url}/${target}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(300);
  return answer.json.id;
};
const viewOf = (id: string) => `${gateway.url}/inspector/view/~runs/${encodeURIComponent(id)}/details`;
const line = (page: Page, place: string) => page.locator(`[data-node="${place}"]`);
const box = (page: Page, place: string) => page.locator(`.flow [data-place="${place}"]`);
const arrow = (page: Page, ends: string) => page.locator(`.flow [data-arrow="${ends}"]`);
const isIn = (page: Page, place: string, state: string) =>
  line(page, place)
    .locator('.pill', { hasText: new RegExp(`^${state}$`) })
    .waitFor();

async function open(options = {}) {
  const opened = await openPage({ viewport: { width: 1280, height: 800 }, ...options });
  opened.page.setDefaultTimeout(30_000);
  return opened;
}

describe('a run of a flow in the inspector', () => {
  let id = '';

  test('shows the states of nodes in its graph while it runs, and can be approved on the page', async () => {
    id = await began('flows/shipping', { parameters: { version: '7' } });
    const { page, complaints } = await open();
    await page.goto(viewOf(id));
    await isIn(page, 'check', 'done');
    await isIn(page, 'ask', 'waiting');
    expect(await line(page, 'ask').textContent()).toMatch(/a decision, for at most \d+ (min|h)/);
    expect(await box(page, 'ask').textContent()).toContain('waiting for people');
    expect(await line(page, 'told').textContent()).toContain('not started');
    // The node that needs a decision is shown immediately, no click is needed.
    expect(await page.locator('.node-pane h2').textContent()).toContain('ask');
    expect(await arrow(page, 'check ask').getAttribute('class')).toContain('taken');
    expect(await arrow(page, 'ask no').getAttribute('class')).toContain('open');

    const question = page.locator('.pending [data-approval]');
    expect(await question.textContent()).toContain('Ship 7?');
    await question.getByLabel('Comment on the decision').fill('Go.');
    await question.getByRole('button', { name: 'Approve' }).press('Enter');
    await isIn(page, 'ask', 'done');
    // The loop continues, iteration by iteration.
    await line(page, 'poll').getByText('iteration 2').waitFor();
    await page.locator('.pending').waitFor({ state: 'detached' });
    await isIn(page, 'poll', 'done');
    await isIn(page, 'soak', 'waiting');
    expect(complaints).toEqual([]);
  });

  test('shows skipped nodes with reasons, failed nodes with their handlers, and the last iteration of a loop', async () => {
    const { page, complaints } = await open();
    await page.goto(viewOf(id));
    await isIn(page, 'no', 'skipped');
    await isIn(page, 'hook', 'failed');
    await isIn(page, 'mend', 'done');
    await isIn(page, 'poll/look', 'done');
    await isIn(page, 'poll/rare', 'skipped');
    await isIn(page, 'soak', 'waiting');
    expect(await line(page, 'soak').textContent()).toMatch(/its scheduled time, in \d+ (s|min)/);
    expect(await arrow(page, 'ask no').getAttribute('class')).toContain('untaken');
    expect(await arrow(page, 'hook mend').getAttribute('class')).toContain('error taken');
    expect(await arrow(page, 'poll/look poll/rare').getAttribute('class')).toContain('untaken');
    expect(await arrow(page, 'ask poll').textContent()).toBe('approved');
    const pane = page.locator('.node-pane');
    await box(page, 'no').click();
    await pane.getByText('not taken: denied is false').waitFor();
    await box(page, 'hook').click();
    await pane.getByRole('rowheader', { name: 'error' }).waitFor();
    await box(page, 'mend').click();
    await pane.locator('pre', { hasText: '[redacted]' }).waitFor();
    await box(page, 'poll/look').click();
    await pane.locator('pre', { hasText: 'Saw three.' }).waitFor();
    await box(page, 'poll').click({ position: { x: 10, y: 8 } });
    expect(await pane.locator('pre').first().textContent()).toContain('"one"');
    await box(page, 'check').click();
    expect(await pane.locator('pre').first().textContent()).toBe('Check 7');
    expect(await pane.textContent()).toContain(HOSTILE);
    await pane.locator('.step', { hasText: 'response 1' }).waitFor();
    expect(await page.content()).not.toContain(SECRET);
    expect(await page.locator('#page img, #page script').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('can be navigated by the keyboard', async () => {
    const { page } = await open();
    await page.goto(viewOf(id));
    await isIn(page, 'soak', 'waiting');
    await box(page, 'check').click();
    await page.keyboard.press('ArrowDown');
    await page.locator('.node-pane h2', { hasText: 'ask' }).waitFor();
    expect(await page.evaluate('document.activeElement.dataset.place')).toBe('ask');
    expect(await box(page, 'ask').getAttribute('aria-label')).toMatch(/^Approval ask · ✓ done/);
    expect(await page.locator('.flow [tabindex="0"]').count()).toBe(1);
    await line(page, 'no').getByRole('button').press('Enter');
    await page.locator('.node-pane h2', { hasText: /^no / }).waitFor();
  });

  test.each([
    { width: 390, height: 844, colorScheme: 'dark' },
    { width: 1280, height: 800, colorScheme: 'light' },
  ] as const)('is readable at $width by $height', async ({ colorScheme, ...viewport }) => {
    const { page } = await open({ viewport, colorScheme });
    await page.goto(viewOf(id));
    await isIn(page, 'soak', 'waiting');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
  });

  test('can be cancelled, shows dropped and unreached nodes, and resumes at the same node', async () => {
    const { page } = await open();
    await page.goto(viewOf(id));
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await isIn(page, 'soak', 'dropped');
    await isIn(page, 'told', 'not reached');
    await page.getByRole('button', { name: 'Retry from the last step' }).press('Enter');
    await isIn(page, 'soak', 'waiting');
    expect(await line(page, 'check').textContent()).toContain('done');
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await isIn(page, 'soak', 'dropped');
  });

  test('continues at the denial branch after Deny is clicked', async () => {
    const other = await began('flows/shipping', { parameters: { version: '8' } });
    const { page } = await open();
    await page.goto(viewOf(other));
    await page.locator('.pending').getByRole('button', { name: 'Deny' }).click();
    await isIn(page, 'no', 'done');
    await isIn(page, 'poll', 'skipped');
    await isIn(page, 'told', 'skipped');
    await page.locator('#run > .bar .pill', { hasText: 'done' }).waitFor();
  });
});

describe('a run of a fleet in the inspector', () => {
  test('shows the members with states and votes', async () => {
    const id = await began('fleets/review', { input: 'Look.' });
    const { page, complaints } = await open();
    await page.goto(viewOf(id));
    const member = (name: string) => page.locator(`[data-member="${name}"]`);
    await member('ada').getByText('voted').waitFor();
    expect(await member('ada').textContent()).toContain('"ship"');
    expect(await member('ben').locator('.pill').textContent()).toBe('running');
    await eventually(() => expect(vote).toBeTypeOf('function'));
    await page.getByText('Votes on verdict: "ship" 2 of 3').waitFor();
    vote();
    await page.locator('#run > .bar .pill', { hasText: 'failed' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('started by a flow is shown at the node of the flow', async () => {
    const id = await began('flows/voting', {});
    const { page } = await open();
    await page.goto(viewOf(id));
    await page.locator('[data-member="review/ada"]', { hasText: 'voted "ship"' }).waitFor();
    expect(await page.locator('[data-member="review/ben"] .pill').textContent()).toBe('running');
    vote();
    await isIn(page, 'review', 'failed');
  });
});

describe('fleets and flows in the inspector', () => {
  test('are listed below the agents with statistics, and a flow shows a graph', async () => {
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~agents/details`);
    const review = page.locator('[data-fleet="review"]');
    await review.waitFor();
    expect(await review.textContent()).toMatch(
      /3 members: in parallel; vote on verdict: unanimous.*ada \(yes\), ben \(slow\), carl \(yes\)/,
    );
    const shipped = page.locator('[data-flow="shipping"]');
    expect(await shipped.textContent()).toMatch(/11 nodes, parameters version.*1 response since the start/);
    await shipped.getByRole('link').click();
    await box(page, 'poll/look').waitFor();
    expect(new URL(page.url()).pathname).toBe('/inspector/view/~flows/shipping/details');
    expect(await arrow(page, 'ask no').textContent()).toBe('denied');
    expect(await arrow(page, 'hook mend').getAttribute('class')).toContain('error open');
    await box(page, 'ask').click();
    await page.locator('.node-pane').getByRole('rowheader', { name: 'to', exact: true }).waitFor();
    await page.locator('#flow').getByRole('button', { name: 'Show runs' }).click();
    await eventually(async () =>
      expect(await page.locator('ul.records > li a').allTextContents()).toEqual(['shipping', 'shipping']),
    );
    expect(complaints).toEqual([]);
    await page.goto(`${gateway.url}/inspector/view/~flows/nobody/details`);
    await page.locator('.empty', { hasText: 'there is no flow "nobody"' }).waitFor();
  });

  test('are available in the JSON API of the inspector, without secrets', async () => {
    const { json } = await ask(`${gateway.url}/inspector/api/flows/shipping`);
    expect(json).toMatchObject({ name: 'shipping', nodes_count: 11, parameters: [{ name: 'version' }] });
    expect(JSON.stringify(json)).not.toContain(SECRET);
    expect((await ask(`${gateway.url}/inspector/api/flows/nobody`)).status).toBe(404);
    const all = (await ask(`${gateway.url}/inspector/api/flows`)).json;
    expect(all.flows.map(({ name }: { name: string }) => name)).toEqual(['shipping', 'voting']);
    const none = { approvals: [], next_before: null };
    expect((await ask(`${gateway.url}/inspector/api/approvals?run=nobody`)).json).toEqual(none);
  });
});

// Layout of the page with long names: texts are readable at all widths and do not touch, and flows fit the
// pane. In a real browser, with the built program.

import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  eventually,
  flow,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import {
  answerRow,
  askedRow,
  begunRow,
  storeRuns,
  toolApproval,
} from '../../fixtures/automation/stored-runs.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { callOnce, details, RawSession } from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import {
  checkTree,
  type ShownText,
  shownTexts,
  touchingTexts,
  unreadable,
} from '../../fixtures/gateway/page-texts.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const DESK = { width: 1280, height: 800 };
const sizes = [DESK, { width: 1440, height: 900 }, { width: 390, height: 844 }];

const STARTING = 'starts-with-a-name-of-30-chars';
const FAILED = 'failed-with-a-name-of-30-chars';
const RESTARTED = 'restarted-and-running-30-chars';
const LONG = 'a-server-with-an-id-of-forty-characters1';
const CUSTOMER = 'alice/orders-of-the-last-twelve-months';
const CONVERSATION = `http/orders/${CUSTOMER}`;

/** Branches, long conditions, a loop, a handler of errors, and a connection past several ranks. */
const release = {
  nodes: [
    { id: 'check', type: 'Transform', config: { set: { ok: 'true' } }, on_error: 'report-the-failure' },
    { id: 'ask', type: 'Wait', config: { seconds: 600 } },
    {
      id: 'each-region',
      type: 'Loop',
      config: {
        over: '["one", "two"]',
        nodes: [
          { id: 'deploy', type: 'Transform', config: { set: { to: '{{ item }}' } }, on_error: 'undo' },
          { id: 'probe', type: 'Transform', config: { set: { at: '{{ item }}' } } },
          { id: 'undo', type: 'Transform', config: { set: { at: '{{ item }}' } } },
        ],
        connections: [{ from: 'deploy', to: 'probe', when: 'steps.deploy.output.to == "two" && index > 0' }],
      },
      on_error: 'report-the-failure',
    },
    { id: 'shipped', type: 'Response', config: { text: 'Shipped.' } },
    { id: 'refused', type: 'Response', config: { text: 'Refused.' } },
    { id: 'denied', type: 'Response', config: { text: 'Denied.' } },
    { id: 'expired', type: 'Response', config: { text: 'Expired.' } },
    { id: 'report-the-failure', type: 'Response', config: { text: 'Failed.' } },
  ],
  connections: [
    { from: 'check', to: 'ask', when: 'steps.check.output.ok == "true"' },
    { from: 'check', to: 'refused', when: 'else' },
    { from: 'ask', to: 'each-region', when: 'steps.check.output.ok == "true"' },
    { from: 'ask', to: 'denied', when: 'steps.check.output.ok == "false"' },
    { from: 'ask', to: 'expired', when: 'else' },
    { from: 'each-region', to: 'shipped' },
  ],
};

const APPROVAL = '0a0a0a0a-0000-4000-8000-000000000001';
let gateway: GatewayProcess;

beforeAll(async () => {
  const folder = temporaryFolder();
  await storeRuns(folder, [
    { id: 'short', agent: 'oncall', rows: [begunRow('Look.'), answerRow(1, 'Fine.')], outcome: 'done' },
    {
      id: 'a-run-that-was-interrupted-and-has-a-long-id',
      agent: 'reviewer-of-changes-in-repositories',
      rows: [begunRow('Look.'), answerRow(1, 'Fine.'), answerRow(2, 'Fine.')],
      figures: { iterations: 2, tool_calls: 3, input_tokens: 1_200, output_tokens: 300 },
      outcome: 'dead',
      note: 'the model answered 401',
    },
    {
      id: 'pays',
      agent: 'shop',
      rows: [begunRow('Pay.'), askedRow(APPROVAL)],
      outcome: 'parked',
      asks: [toolApproval(APPROVAL, { to: 'bob' })],
    },
  ]);
  // The runs of this agent outlast the tests.
  const program = await startAgent(() => new Promise(() => {}));
  const restart = { intensity: 5, period_seconds: 60, min_backoff_ms: 50, max_backoff_seconds: 1 };
  gateway = await startAutomation({
    folder,
    env: { HOOK_SECRET: SECRET },
    servers: {
      [STARTING]: fault('hangs-at-initialize', { start_timeout_seconds: 600 }),
      [FAILED]: fault('exits-at-once', { restart: { ...restart, intensity: 1, park_seconds: 600 } }),
      [RESTARTED]: fault('echo', { restart }),
      [LONG]: fault('echo'),
    },
    resources: [
      trigger('orders', {
        type: 'HTTP',
        config: { path: '/hooks/orders', webhook_secret: `\${HOOK_SECRET}`, key: 'body:customer' },
        default_agent: 'clerk',
      }),
      httpAgent('clerk', program.url),
      flow('release', release),
    ],
  });
  const { url } = gateway;
  void callOnce(url, STARTING, 'echo').catch(() => {});
  await postHook(url, '/hooks/orders', { customer: CUSTOMER, text: 'one' });
  for (let round = 0; round < 3; round += 1) await callOnce(url, FAILED, 'echo');
  await callOnce(url, RESTARTED, 'echo');
  const [pid = 0] = (await details(url, RESTARTED)).pids;
  process.kill(pid, 'SIGKILL');
  await eventually(async () => expect((await details(url, RESTARTED)).state).not.toBe('running'));
  await callOnce(url, RESTARTED, 'echo');
  await RawSession.open(url, `/mcp/${LONG}`);
  await ask(`${url}/flows/release/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
});

async function open(path: string, viewport: { width: number; height: number }): Promise<Page> {
  const { page } = await openPage({ viewport, reducedMotion: 'reduce' });
  page.setDefaultTimeout(30_000);
  await page.goto(`${gateway.url}/inspector${path}`);
  await page.locator(`.row[data-name="${LONG}"], main.sections`).first().waitFor();
  return page;
}

test.each(sizes)('names in the log are readable at $width pixels, with sender and event', async (size) => {
  const page = await open(`/view/${LONG}/log`, size);
  await ask(`${gateway.url}/servers/${LONG}/stop`, { method: 'POST' });
  await ask(`${gateway.url}/servers/${LONG}/start`, { method: 'POST' });
  await postHook(gateway.url, '/hooks/orders', { customer: `${CUSTOMER}${size.width}`, text: 'one' });
  const entries = page.locator('.entry');
  await entries.filter({ hasText: LONG }).first().waitFor();
  await entries.filter({ hasText: CONVERSATION }).first().waitFor();
  await eventually(async () => expect(await entries.count()).toBeGreaterThan(4));
  expect(await unreadable(page, '.entry a', 34)).toEqual([]);
  expect(await unreadable(page, '.entry .event', 28)).toEqual([]);
  expect(await unreadable(page, '.entry .pill, .entry time', 28)).toEqual([]);
  const senders = await page.evaluate<ShownText[]>(shownTexts('.entry .aside'));
  const cut = senders.filter(({ shown, letters }) => shown < Math.min(letters, 28));
  expect(cut).toEqual([]);
  expect(senders.filter(({ shown, letters, title }) => shown < letters && title === null)).toEqual([]);
});

test.each(sizes)('names in the tree are readable at $width pixels, and states are complete', async (size) => {
  const page = await open('/view/~conversations/log', size);
  await page.locator('.row[data-name="conversations"] .fold', { hasText: '▸' }).click();
  await page.locator(`.row[data-name="conversation/${CONVERSATION}"]`).waitFor();
  await checkTree(page);
  await page.getByRole('tree').press('Home');
  for (const [name, state] of [
    [STARTING, 'starting'],
    [FAILED, 'failed.parked'],
    [RESTARTED, 'running'],
  ])
    await page.locator(`.row[data-name="${name}"] .pill`, { hasText: `${state}` }).waitFor();
  await checkTree(page);
  // The sessions are at the end of the tree.
  await page.getByRole('tree').press('End');
  await page.locator('.row[data-name="sessions"] .fold', { hasText: '▸' }).click();
  await page.getByRole('tree').press('End');
  await page.locator('[data-session]').first().waitFor();
  await checkTree(page);
});

const views: readonly (readonly [path: string, sign: string])[] = [
  ['', '[data-wrong]'],
  [`/view/${LONG}/log`, '.row.selected'],
  [`/view/${RESTARTED}/numbers`, '.figures'],
  [`/view/${FAILED}/stderr`, '.stderr'],
  [`/view/${LONG}/details`, '.details th'],
  ['/view/~sessions/log', '.details th'],
  ['/view/~deliveries/details', '[data-delivery]'],
  ['/view/~runs/details', 'ul.records li'],
  ['/view/~runs/short/details', '#run .steps'],
  ['/view/~approvals/details', '[data-approval]'],
  ['/view/~agents/details', '[data-agent]'],
  ['/view/~flows/release/details', '.flow'],
];

test.each(sizes)('no texts touch each other at $width pixels', async (size) => {
  const page = await open('', size);
  const touching: string[] = [];
  for (const [path, sign] of views) {
    await page.goto(`${gateway.url}/inspector${path}`);
    await page.locator(sign).first().waitFor();
    for (const pair of await page.evaluate<string[]>(touchingTexts)) touching.push(`${path}: ${pair}`);
  }
  expect(touching).toEqual([]);
});

test('in the lists of the inspector no texts touch each other at any window width', async () => {
  const page = await open('/view/~runs/details', DESK);
  const touching: string[] = [];
  for (const [path, sign] of views.filter(([each]) => /~(?:runs|deliveries|approvals)\/details/.test(each))) {
    await page.goto(`${gateway.url}/inspector${path}`);
    await page.locator(sign).first().waitFor();
    for (let width = 320; width < 1500; width += 12) {
      await page.setViewportSize({ width, height: 800 });
      for (const pair of await page.evaluate<string[]>(touchingTexts)) touching.push(`${path}: ${pair}`);
    }
  }
  expect([...new Set(touching)]).toEqual([]);
});

test.each(sizes)('approvals are above failures in the overview at $width pixels', async (size) => {
  const page = await open('', size);
  const rows = page.locator('[data-wrong]');
  await eventually(async () => expect(await rows.count()).toBeGreaterThan(2));
  const tops = await page.evaluate<[string, number][]>(
    `[...document.querySelectorAll('[data-wrong]')].map((row) => [row.dataset.wrong.split(' ')[0], row.getBoundingClientRect().top])`,
  );
  const kinds = [...tops].sort(([, a], [, b]) => a - b).map(([kind]) => kind);
  expect([...new Set(kinds)]).toEqual(['approval', 'server', 'run']);
});

/** Runs in the page: returns descriptions of all wrong positions in the picture of the flow. */
const flowFaults = `(() => {
  const picture = document.querySelector('svg.flow');
  const pane = picture.parentElement;
  const faults = pane.scrollWidth > pane.clientWidth ? ['it scrolls: ' + pane.scrollWidth + ' in ' + pane.clientWidth] : [];
  const boxes = [...picture.querySelectorAll('[data-place]')].map((node) => [node.dataset.place, node.querySelector('rect').getBoundingClientRect(), node]);
  for (const [place, box, node] of boxes)
    for (const text of node.querySelectorAll('text')) {
      const own = text.getBoundingClientRect();
      if (own.width > 0 && (own.left < box.left || own.right > box.right)) faults.push(text.textContent + ' leaves the box ' + place);
    }
  for (const arrow of picture.querySelectorAll('[data-arrow]')) {
    const [source, target] = arrow.dataset.arrow.split(' ');
    const others = boxes.filter(([place]) => !source.startsWith(place + '/'));
    const path = arrow.querySelector('path');
    const matrix = path.getScreenCTM();
    for (let at = 0; at <= path.getTotalLength(); at += 2) {
      const { x, y } = path.getPointAtLength(at).matrixTransform(matrix);
      for (const [place, box] of others)
        if (x > box.left + 2 && x < box.right - 2 && y > box.top + 2 && y < box.bottom - 2) faults.push(source + ' → ' + target + ' crosses ' + place);
    }
    for (const text of arrow.querySelectorAll('text')) {
      const own = text.getBoundingClientRect();
      for (const [place, box] of others)
        if (own.left < box.right && own.right > box.left && own.top < box.bottom && own.bottom > box.top) faults.push(text.textContent + ' overlaps ' + place);
    }
  }
  return [...new Set(faults)];
})()`;

test('the diagram of a flow fits its pane on a desktop screen, and its arrows and labels do not cross boxes', async () => {
  const page = await open('/view/~flows/release/details', DESK);
  await page.locator('svg.flow').waitFor();
  expect(await page.evaluate(flowFaults)).toEqual([]);
  await page.goto(`${gateway.url}/inspector/view/~runs/details`);
  await page.locator('.records a', { hasText: 'release' }).click();
  await page.locator('svg.flow .state', { hasText: 'waiting' }).waitFor();
  expect(await page.evaluate(flowFaults)).toEqual([]);
});

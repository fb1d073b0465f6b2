// Accessibility and layout of all views, by axe-core: light and dark, on a phone and two desktop sizes. In a
// real browser, with the built program. The page is loaded once, and each view is checked in all sizes.

import axeCore from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { startTroubled } from '../../fixtures/gateway/troubled-gateway.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

/** Evaluated in the page, because its policy allows no scripts. */
const { source: axe } = axeCore;
const DESK = { width: 1280, height: 800 };
const WIDE = { width: 1600, height: 1000 };
const PHONE = { width: 390, height: 844 };
const sizes = [DESK, WIDE, PHONE];

/** Paths below /inspector, and an element that shows that the view is ready. A new view is one more line. */
const views: readonly (readonly [path: string, sign: string])[] = [
  ['', '[data-wrong]'],
  ['/view/files/log', '.row.selected'],
  ['/view/files/sequence', '.panel'],
  ['/view/files/numbers', '.figures'],
  ['/view/tickets/stderr', '.stderr pre'],
  ['/view/files/details', '.details th'],
  ['/view/files/tools?tool=echo', '.tool-form'],
  ['/view/~servers/log', '.box.active'],
  ['/view/~trigger/alerts/log', '.box.active'],
  ['/view/~trigger/elsewhere/details', '.details th'],
  ['/view/~conversations/details', '.details caption'],
  ['/view/~sessions/log', '.details th'],
  ['/view/~calls/details?outcome=failed', '[data-call]'],
  ['/view/~deliveries/details?state=dead', '[data-delivery]'],
  ['/view/~deliveries/went-wrong/details', '#delivery pre'],
  ['/view/~runs/details', 'ul.records li'],
  ['/view/~runs/pays/details', '#run .pending li'],
  ['/view/~approvals/details', '[data-approval]'],
  ['/view/~agents/details', '[data-agent]'],
  ['/view/~flows/shipping/details', '.flow'],
  ['/view/~connect/details', '.connect pre'],
];

interface Violation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Rules with results that depend on the size. */
const rulesOfSize = ['color-contrast', 'scrollable-region-focusable', 'target-size'];
/** Dark mode differs only in colours. */
const rulesOfDark = ['color-contrast'];

/** Serious violations of these rules, by default of all rules. */
async function violationsOf(page: Page, rules: readonly string[] | undefined): Promise<string[]> {
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, ${JSON.stringify(options)})`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`));
}

let gateway: GatewayProcess;
beforeAll(async () => {
  ({ gateway } = await startTroubled());
});

const cleanups: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of cleanups) await close();
});

async function open(viewport: { width: number; height: number }): Promise<Page> {
  const { page, close } = await openPage({ viewport, reducedMotion: 'reduce' });
  cleanups.push(close);
  return page;
}

async function examined(page: Page, name: string): Promise<string[]> {
  const violations: string[] = [];
  for (const viewport of sizes)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const rulesInLight = viewport === DESK ? undefined : rulesOfSize;
      for (const violation of await violationsOf(page, colorScheme === 'light' ? rulesInLight : rulesOfDark))
        violations.push(`${name}, ${viewport.width} px, ${colorScheme}: ${violation}`);
    }
  return violations;
}

/** Runs in the page: navigates to another view, and returns when it is drawn. */
const navigateTo = (path: string) => `(async () => {
  history.pushState(null, '', ${JSON.stringify(path)});
  dispatchEvent(new PopStateEvent('popstate'));
  for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
})()`;

test('no view has a serious accessibility violation, light or dark, on a phone or a desktop screen', async () => {
  const page = await open(DESK);
  const overlaps: string[] = [];
  await page.goto(`${gateway.url}/inspector`);
  await page.evaluate(axe);
  for (const [path, sign] of views) {
    await page.evaluate(navigateTo(`/inspector${path}`));
    await page.locator(sign).first().waitFor();
    overlaps.push(...(await examined(page, path)));
  }
  const { url } = await startGateway({ settings: { api_key: 'a key' }, servers: { echo: fault('echo') } });
  await page.goto(`${url}/inspector`);
  await page.evaluate(axe);
  overlaps.push(...(await examined(page, 'the form')));
  await page.getByLabel('API key').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').waitFor();
  await page.evaluate(axe);
  overlaps.push(...(await examined(page, 'the form after a wrong key')));
  expect(overlaps).toEqual([]);
});

/** Runs in the page: checks whether the dot of an initial state covers a letter. */
const coveredLetters = `(() => {
  const letters = [...document.querySelectorAll('.chart text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return [...document.querySelectorAll('.chart .initial')].flatMap((dot) => {
    const own = dot.getBoundingClientRect();
    return letters.filter(([, box]) => own.left < box.right && own.right > box.left && own.top < box.bottom && own.bottom > box.top).map(([text]) => text);
  });
})()`;

/** Runs in the page: measures the chart of the machine. */
const chartSizes = `(() => {
  const chart = document.querySelector('.chart');
  const active = [...chart.querySelectorAll('.box.active')].at(-1).getBoundingClientRect();
  const around = chart.getBoundingClientRect();
  return {
    overhang: chart.scrollWidth - chart.clientWidth,
    isInSight: active.top >= Math.max(0, around.top) && active.bottom <= Math.min(innerHeight, around.bottom)
      && active.left >= around.left && active.right <= around.right,
  };
})()`;

test('a state chart shows the current state in its pane, also on a phone, and no dot of an initial state covers a letter', async () => {
  for (const viewport of sizes) {
    const page = await open(viewport);
    for (const actor of ['files', 'tickets', '~gateway', '~servers', '~trigger/alerts']) {
      await page.goto(`${gateway.url}/inspector/view/${actor}/log`);
      await page.locator('.box.active').first().waitFor();
      const chart = await page.evaluate<{ overhang: number; isInSight: boolean }>(chartSizes);
      expect([actor, chart.isInSight]).toEqual([actor, true]);
      if (viewport !== PHONE) expect([actor, chart.overhang]).toEqual([actor, 0]);
      expect(await page.evaluate(coveredLetters)).toEqual([]);
    }
  }
});

/** Runs in the page: returns a sequence chart's truncated parts and times. */
const drawnSequence = `(() => {
  const picture = document.querySelector('.sequence');
  const whole = picture.getBoundingClientRect();
  return {
    overhang: picture.parentElement.scrollWidth - picture.parentElement.clientWidth,
    cut: [...picture.querySelectorAll('text')]
      .filter((text) => text.getBoundingClientRect().right > whole.right + 1 || text.getBoundingClientRect().left < whole.left - 1)
      .map((text) => text.textContent),
    times: [...picture.querySelectorAll('.time')].map((time) => time.textContent),
  };
})()`;

test('the inspector has its tabs in one line, and sequence diagrams with a complete last column and ascending times', async () => {
  const page = await open(DESK);
  await page.goto(`${gateway.url}/inspector/view/files/sequence`);
  await page.locator('.box.active').first().waitFor();
  for (const verb of ['stop', 'start', 'stop', 'start'])
    await ask(`${gateway.url}/servers/files/${verb}`, { method: 'POST' });
  await eventually(async () => expect(await page.locator('.sequence .message').count()).toBeGreaterThan(11));
  for (const viewport of sizes) {
    await page.setViewportSize(viewport);
    const tops = await page.evaluate<number[]>(
      `[...document.querySelectorAll('[role=tab]')].map((tab) => tab.getBoundingClientRect().top)`,
    );
    expect(new Set(tops).size).toBe(1);
    // The page fills the width with columns, once it knows the size.
    await eventually(async () => {
      const picture = await page.evaluate<{ overhang: number; cut: string[]; times: string[] }>(
        drawnSequence,
      );
      expect(picture).toEqual({ overhang: 0, cut: [], times: [...picture.times].sort() });
    });
  }
  await page.locator('#tab-log').click();
  await page.locator('.entry').first().waitFor();
  const logged = await page.locator('.entry time').allTextContents();
  expect(logged).toEqual([...logged].sort().reverse());
});

test('the keyboard reaches all controls: past the header, into the chart and scroll areas, with visible focus', async () => {
  const page = await open(DESK);
  for (const viewport of sizes) {
    await page.setViewportSize(viewport);
    await page.goto(`${gateway.url}/inspector/view/files/log`);
    await page.locator('.box.active').first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content');
    await page.keyboard.press('Enter');
    const reached: string[] = [];
    for (let stop = 0; stop < 12; stop += 1) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate<string>(
          `(() => {
          const { activeElement: at } = document;
          const hasRing = getComputedStyle(at).outlineStyle !== 'none';
          return (hasRing ? '' : 'unseen ') + (at.id || at.getAttribute('role') || at.className || at.textContent);
        })()`,
        ),
      );
    }
    expect(reached).toEqual(
      expect.arrayContaining(['filter', 'tree', 'Start', 'Stop', 'chart', 'tab-log', 'log']),
    );
    expect(reached.filter((name) => name.startsWith('unseen'))).toEqual([]);
  }
});

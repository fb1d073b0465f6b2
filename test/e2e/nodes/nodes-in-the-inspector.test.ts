// Cluster nodes in the inspector: the tree, a separate view, and a banner about differences. In a real
// browser, with axe.

import axeCore from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { eventually, writeResources } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import {
  type GatewayProcess,
  startGateway,
  temporaryFolder,
} from '../../fixtures/gateway/gateway-process.ts';
import { checkTree } from '../../fixtures/gateway/page-texts.ts';
import { desk, startNodes } from '../../fixtures/nodes/node-group.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const server = await sharedPostgres();

const SECOND = 'second-node-in-the-rack-of-the-north-b';

const sizes = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

/** Serious violations in light and dark mode. */
async function violationsOf(page: Page): Promise<string[]> {
  const serious: string[] = [];
  for (const viewport of sizes)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const { violations } = await page.evaluate<{
        violations: { id: string; impact: string | null; nodes: { html: string }[] }[];
      }>(`axe.run(document, { resultTypes: ['violations'], preload: false })`);
      for (const { id, impact, nodes } of violations)
        if (impact === 'serious' || impact === 'critical')
          serious.push(`${viewport.width} ${colorScheme} ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
    }
  await page.setViewportSize({ width: 1280, height: 800 });
  return serious;
}

test('the inspector shows all cluster nodes with state, version and configuration, and marks differences', async () => {
  const folder = temporaryFolder();
  const resources = desk(folder);
  const [a, b] = await startNodes([
    { name: 'a', resources },
    { name: SECOND, resources },
  ]);
  if (a === undefined || b === undefined) throw new Error('two were to be started');
  const { page, complaints, close } = await openPage({ reducedMotion: 'reduce' });
  await page.goto(`${a.url}/inspector`);
  await page.evaluate(axeCore.source);
  const tree = (name: string) => page.locator(`.row[data-node="${name}"]`);
  await tree(SECOND).waitFor();
  expect(await tree('a').textContent()).toContain('this node');
  expect(await tree(SECOND).textContent()).not.toContain('this node');
  expect(await page.locator('#nodes-differ').count()).toBe(0);

  await tree(SECOND).click();
  await page.locator(`#nodes tr[data-row="${SECOND}"][aria-current="true"]`).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/inspector/view/~nodes/${SECOND}/log`);
  const rows = async () =>
    (await page.locator('#nodes tbody tr').allTextContents()).map((text) => text.replace(/\s+/g, ' '));
  const { nodes } = (await ask(`${a.url}/nodes`)).json;
  expect(await rows()).toEqual([
    `a (this node)running${nodes[0].epoch}${nodes[0].version}${nodes[0].config_hash}`,
    `${SECOND}running${nodes[1].epoch}${nodes[1].version}${nodes[1].config_hash}`,
  ]);
  expect(await violationsOf(page)).toEqual([]);

  writeResources(b.folder, desk(folder, 'desk', { key: 'body:other' }));
  await ask(`${b.url}/admin/reload`, { method: 'POST' });
  await page.locator('#nodes-differ').waitFor();
  expect(await page.locator('#nodes-differ').textContent()).toContain(
    'The nodes differ in their configuration.',
  );
  await eventually(async () => expect(await tree(SECOND).textContent()).toContain('differs'));
  expect((await rows())[1]).toMatch(/ · differs$/);
  for (const size of sizes) {
    await page.setViewportSize(size);
    await checkTree(page);
  }
  expect(await violationsOf(page)).toEqual([]);

  // The keyboard moves from line to line.
  await page.locator('[role="tree"]').focus();
  await page.keyboard.press('ArrowUp');
  await page.locator('.row.selected[data-node="a"]').waitFor();
  await page.keyboard.press('ArrowLeft');
  await page.locator('.row.selected[data-name="nodes"]').waitFor();
  await page.locator('#filter').fill('node second');
  await expect.poll(() => page.locator('.row[data-node]').count()).toBe(1);
  await page.locator('#filter').fill('');

  await b.stop();
  await expect.poll(() => page.locator('.row[data-node]').count(), { timeout: 10_000 }).toBe(1);
  await server.kill();
  await page.locator('#nodes-stale').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await server.start();
  await expect.poll(() => page.locator('#nodes-stale').count(), { timeout: 20_000 }).toBe(0);
  // Responses to database requests in the outage.
  expect(complaints.filter((complaint) => !complaint.includes('status of 503'))).toEqual([]);
  await close();
  await a.stop();
});

test('the inspector of a gateway without a shared store shows no cluster nodes', async () => {
  const gateway: GatewayProcess = await startGateway({});
  const { page, close } = await openPage();
  await page.goto(`${gateway.url}/inspector/view/~nodes/log`);
  await page.getByText('This gateway is a single node').waitFor();
  expect(await page.locator('[data-name="nodes"]').count()).toBe(0);
  await close();
  await gateway.stop();
});

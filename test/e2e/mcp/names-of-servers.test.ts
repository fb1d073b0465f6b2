// Servers that have the same names as gateway actors work, and have separate addresses in the inspector.

import { expect, test } from 'vitest';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

test('a server with the name of a supervisor actor starts, and so do the servers of that supervisor', async () => {
  const ids = ['servers', 'gateway', 'bucket-1', ...Array.from({ length: 200 }, (_, index) => `s${index}`)];
  const { url } = await startGateway({
    servers: Object.fromEntries(ids.map((id) => [id, fault('echo')])),
  });
  for (const id of ['servers', 'gateway', 'bucket-1', 's199']) {
    const { json } = await ask(`${url}/servers/${id}/start`, { method: 'POST' });
    expect(json).toMatchObject({ id, state: 'running' });
  }
});

test('the inspector distinguishes a server from the actor with the same name', async () => {
  const ids = ['servers', 'gateway', 'sessions'];
  const { url } = await startGateway({
    servers: Object.fromEntries(ids.map((id) => [id, fault('echo')])),
    settings: { inspector: { commands: true } },
  });
  const { page, complaints } = await openPage();
  const path = () => new URL(page.url()).pathname;
  const title = () => page.locator('h1').textContent();
  const start = page.getByRole('button', { name: 'Start' });
  for (const id of ids) {
    await page.goto(`${url}/inspector/view/${id}/details`);
    await page.getByText(`${id}#`).first().waitFor();
    expect([await title(), await start.count()]).toEqual([id, 1]);
    expect(await page.locator('.middle .pill').textContent()).toBe('stopped');
  }
  await page.locator('.row[data-name="servers"][data-machine="supervisor"]').click();
  await eventually('the supervisor', async () => path() === '/inspector/view/~servers/details');
  await page.reload();
  await page.locator('.middle').getByText('supervising').first().waitFor();
  expect([await title(), await start.count()]).toEqual(['servers', 0]);
  await page.locator('.details').getByRole('link', { name: 'gateway' }).click();
  await eventually('the root', async () => path() === '/inspector/view/~gateway/details');
  await page.locator('.middle').getByText('serving').first().waitFor();
  expect([await title(), await start.count()]).toEqual(['gateway', 0]);
  expect(complaints).toEqual([]);
});

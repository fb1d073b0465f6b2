// Lists of many deliveries over the API and in the terminal: an API response covers a bounded number of
// records, and the command requests further pages.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startAutomation } from '../../fixtures/automation/automation.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fillStore, MANY, RARE } from '../../fixtures/store/many-deliveries.ts';

interface List {
  readonly deliveries: readonly { readonly seq: number }[];
  readonly next_before: number | null;
}

const LOOKED_AT = 200_000;
const seqs = ({ deliveries }: List) => deliveries.map(({ seq }) => seq);

let gateway: GatewayProcess;

beforeAll(async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.gateway'), { mode: 0o700 });
  await fillStore(join(folder, '.gateway', 'store.sqlite'), Date.now());
  gateway = await startAutomation({ folder, resources: [] });
});

const list = (...args: string[]) => ['deliveries', '--url', gateway.url, ...args];
const run = (...args: string[]) => runMain(list(...args), { env: { GATEWAY_API_KEY: '' } });

test('GET /deliveries reads a limited number of records and returns the matches, maybe none, with the next cursor', async () => {
  const ask = async (query: string) =>
    (await (await fetch(`${gateway.url}/deliveries?${query}`)).json()) as List;
  const first = await ask('trigger=rare');
  expect([seqs(first), first.next_before]).toEqual([[RARE[2]], MANY - LOOKED_AT + 1]);
  const empty = await ask(`trigger=nobody&before=${first.next_before}`);
  expect([seqs(empty), empty.next_before]).toEqual([[], MANY - 2 * LOOKED_AT + 1]);
  const last = await ask(`trigger=rare&before=${empty.next_before}`);
  expect([seqs(last), last.next_before]).toEqual([[RARE[0]], null]);
});

test('the command `deliveries` reads all pages and prints one list', async () => {
  const { code, stdout, stderr } = await run('--trigger', 'rare', '--json');
  const page = JSON.parse(stdout) as List;
  expect([code, stderr, seqs(page), page.next_before]).toEqual([0, '', [...RARE].reverse(), null]);
  expect((await run('--trigger', 'nobody')).stdout).toBe('no deliveries\n');
});

test('the command `deliveries` stops at the limit', async () => {
  const { stdout } = await run('--trigger', 'rare', '--limit', '2');
  expect(stdout.match(/http:\d+/g)).toEqual([`http:${RARE[2]}`, `http:${RARE[1]}`]);
  expect(stdout).toMatch(new RegExp(`^more: --before ${RARE[1]}$`, 'm'));
  const rest = await run('--trigger', 'rare', '--limit', '2', '--before', String(RARE[1]));
  expect(rest.stdout.match(/http:\d+/g)).toEqual([`http:${RARE[0]}`]);
});

test('the command `deliveries` shows its progress in a terminal, until the list is complete', async () => {
  const terminal = new Terminal(list('--trigger', 'rare'), { env: { GATEWAY_API_KEY: '' } });
  await terminal.waitForExit();
  const [, told = '', shown = ''] = /(requesting deliveries.*?)\r␛\[K(RECEIVED.*)/s.exec(terminal.text) ?? [];
  expect(told).toContain(`requesting deliveries before ${MANY - LOOKED_AT + 1}; 1 found`);
  expect(told).toContain(`requesting deliveries before ${MANY - 2 * LOOKED_AT + 1}; 2 found`);
  expect(shown.match(/http:\d+/g)).toHaveLength(3);
  expect(shown).not.toContain('requesting');
});

test('the command `deliveries` reports an invalid limit as a usage error', async () => {
  const { code, stderr } = await run('--limit', 'many');
  expect([code, stderr]).toEqual([2, 'error: limit should be a whole number from 1 to 1000\n']);
});

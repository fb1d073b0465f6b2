// Servers with endless lists: lists are truncated at a limit, the truncation is reported, and other servers
// are not affected.

import { expect, test } from 'vitest';
import { json, RawSession } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

interface Record {
  readonly lists: { readonly tools: { count: number; cut: { reason: string; message: string } | null } };
}

test('an endless list is truncated, with one log line and a mark in the server record; other servers are listed', async () => {
  const endless = (how: string) => {
    const entry = fault('lists-without-end');
    return { ...entry, args: [...(entry.args as string[]), how] };
  };
  const kinds = ['fresh', 'cycle', 'garbage', 'plain'];
  const gateway = await startGateway({
    servers: Object.fromEntries(kinds.map((how) => [how, endless(how)])),
    settings: { list_timeout_seconds: 60 },
    // This heap is too small for any of the three lists, if it is not truncated.
    env: { NODE_OPTIONS: '--max-old-space-size=220' },
  });
  const session = await RawSession.open(gateway.url, '/mcp');
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const { result } = await session.request('tools/list', cursor === undefined ? {} : { cursor });
    const page = result as { tools: { name: string }[]; nextCursor?: string };
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(names.filter((name) => name.startsWith('plain__'))).toHaveLength(3);

  const record = async (id: string) => (await json<Record>(`${gateway.url}/servers/${id}`)).body.lists.tools;
  const counts = Object.fromEntries(
    kinds.map((id) => [id, names.filter((name) => name.startsWith(`${id}__`)).length]),
  );
  expect(await record('fresh')).toMatchObject({ count: counts.fresh, cut: { reason: 'too_large' } });
  expect(await record('cycle')).toMatchObject({ count: counts.cycle, cut: { reason: 'cycle' } });
  expect(await record('garbage')).toMatchObject({ count: counts.garbage, cut: { reason: 'too_large' } });
  expect(await record('plain')).toEqual({ count: 3, cut: null, invalid: null });
  // The first page, and one page for each of the two cursors that the server alternates.
  expect(counts.cycle).toBe(7500);

  const logLines = () => gateway.logs().filter(({ msg }) => msg.includes('tools/list is cut off'));
  expect(logLines().map(({ server }) => server)).toEqual(
    expect.arrayContaining(['cycle', 'fresh', 'garbage']),
  );
  expect(logLines()).toHaveLength(3);
  const { stdout } = await runMain(['servers', 'show', 'cycle', '--url', gateway.url]);
  expect(stdout).toMatch(
    new RegExp(`^cut off {2,}tools after ${counts.cycle} \\(cycle\\): the server r`, 'm'),
  );
  expect(gateway.text()).not.toMatch(signsOfBugs);
});

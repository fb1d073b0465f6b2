// The audit on real files: rotation, restarts, torn lines, renamed files, queries, redaction and limits.

import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Audit, type AuditOptions } from '../../../../actors/audit/audit-part.ts';
import { readEnds } from '../../../../actors/audit/end-record.ts';
import { verifyChain } from '../../../../actors/audit/verify-chain.ts';
import { silentLog } from '../../../../actors/base/errors/log.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { afterEachFile } from '../../../fixtures/end-of-file.ts';

const root = mkdtempSync(join(tmpdir(), 'actor-gateway-audit-'));
afterEachFile(() => rmSync(root, { recursive: true, force: true }));

const defaults = {
  max_bytes: 100_000_000,
  keep: 5,
  arguments: false,
  log: false,
  when_full: 'continue',
} as const;

function newPlace() {
  const folder = mkdtempSync(join(root, 'place-'));
  const path = join(folder, 'audit.jsonl');
  const stateDir = join(folder, 'state');
  const open = (config: Partial<AuditOptions['config']> = {}, more: Partial<AuditOptions> = {}) =>
    Audit.open({
      ...{ stateDir, isShared: false, node: 'n1', redactor: new Redactor(['sk-secret-1234']) },
      config: { path, ...defaults, ...config },
      alarms: { raise: () => {}, clear: () => {} },
      log: silentLog,
      ...more,
    });
  const lines = (file = path) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const verify = async () => verifyChain({ path, ends: await readEnds(join(stateDir, 'audit', 'gateway')) });
  return { folder, path, open, lines, verify };
}

const call = (target: string) => ({ principal: 'key:a', action: 'tools/call', target, outcome: 'ok' });

test('a line has the settled members in order, and the file is for its owner only', async () => {
  const { open, lines, path } = newPlace();
  const audit = await open();
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00`;
  audit.record({ ...call('api/echo'), status: 200, ms: 1.23456, requestId: 'r1', traceparent });
  await audit.drain();
  const line = lines().at(-2) ?? {};
  expect(Object.keys(line)).toEqual(
    'time node tenant principal role action target outcome status ms request_id trace_id chain'.split(' '),
  );
  expect(line).toMatchObject({ node: 'n1', ms: 1.235, trace_id: 'a'.repeat(32), tenant: null, role: null });
  expect(lines().map(({ action }) => action)).toEqual([
    ...['audit/file', 'gateway/start', 'tools/call', 'gateway/stop'],
  ]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('the chain continues over rotated files and restarts, and old files are deleted', async () => {
  const { open, path, folder, verify } = newPlace();
  for (let start = 0; start < 3; start += 1) {
    const audit = await open({ max_bytes: 5_000, keep: 2 });
    for (let n = 0; n < 40; n += 1) audit.record(call(`api/tool-${n}`));
    await audit.drain();
  }
  expect(readdirSync(folder).sort()).toEqual(['audit.jsonl', 'audit.jsonl.1', 'audit.jsonl.2', 'state']);
  expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(5_000);
  expect(await verify()).toMatchObject({ problem: undefined, files: 3 });
});

test('a torn line is set aside and recorded', async () => {
  const { open, path, lines, verify } = newPlace();
  await (await open()).drain();
  appendFileSync(path, '{"time":"2026');
  expect((await verify()).problem).toMatchObject({ kind: 'incomplete', line: 4 });
  const audit = await open();
  await audit.drain();
  expect(readFileSync(`${path}.torn`, 'utf8')).toBe('{"time":"2026');
  expect(statSync(`${path}.torn`).mode & 0o777).toBe(0o600);
  expect(lines()).toContainEqual(expect.objectContaining({ action: 'audit/torn-line', count: 13 }));
  expect((await verify()).problem).toBeUndefined();
});

test('lines that were removed while the gateway was stopped stay detectable', async () => {
  const { open, path, verify } = newPlace();
  await (await open()).drain();
  const text = readFileSync(path, 'utf8');
  truncateSync(path, text.lastIndexOf('\n', text.length - 2) + 1);
  expect((await verify()).problem).toMatchObject({ kind: 'removed', line: 3 });
  await (await open()).drain();
  expect((await verify()).problem).toMatchObject({ kind: 'removed', line: 3 });
});

test('a renamed file is replaced after reopen, and removed files are recorded', async () => {
  const { open, path, lines, verify } = newPlace();
  const audit = await open();
  renameSync(path, `${path}.1`);
  await audit.reopen();
  audit.record(call('api/a'));
  await audit.reopen();
  expect((await verify()).problem).toBeUndefined();
  rmSync(`${path}.1`);
  expect((await verify()).problem?.kind).toBe('removed');
  await audit.reopen();
  audit.record(call('api/b'));
  await audit.drain();
  expect(lines()).toContainEqual(expect.objectContaining({ action: 'audit/removed-files', count: 2 }));
  expect((await verify()).problem).toBeUndefined();
});

test('queries return the newest lines first, page by page over files', async () => {
  const { open } = newPlace();
  const audit = await open({ max_bytes: 20_000, keep: 50 });
  for (let n = 0; n < 500; n += 1) audit.record(call(`api/tool-${n}`));
  const targets: unknown[] = [];
  let before: number | undefined;
  do {
    const page = await audit.list({ action: 'tools/call', limit: 70, before });
    targets.push(...page.lines.map((line) => JSON.parse(line).target));
    before = page.nextBefore;
  } while (before !== undefined);
  expect(targets).toEqual(Array.from({ length: 500 }, (_, n) => `api/tool-${499 - n}`));
  const listed = async (filter: object) => (await audit.list({ limit: 10, ...filter })).lines.length;
  expect(await listed({ target: 'api/tool-7' })).toBe(1);
  expect(await listed({ target: 'api/tool' })).toBe(0);
  expect(await listed({ outcome: 'failed' })).toBe(0);
  expect(await listed({ since: Date.now() + 1_000 })).toBe(0);
  expect(await listed({ until: Date.now() + 1_000 })).toBe(10);
  await audit.drain();
});

test('credentials are in no line, and names are truncated', async () => {
  const { open, path } = newPlace();
  const audit = await open({ arguments: true });
  const key = `agk_${'k'.repeat(40)}`;
  const rawArguments = JSON.stringify({ path: 'a', password: 'hunter2', note: `x sk-secret-1234 ${key}` });
  audit.record({ ...call(`api/sk-secret-1234`), requestId: 'sk-secret-1234', rawArguments });
  audit.record({ ...call('x'.repeat(10_000)), rawArguments: JSON.stringify({ a: 'y'.repeat(5_000) }) });
  await audit.drain();
  const text = readFileSync(path, 'utf8');
  for (const secret of ['sk-secret-1234', key, 'hunter2']) expect(text).not.toContain(secret);
  expect(text).toContain('"arguments":{"path":"a","password":"[redacted]"');
  expect(text).toContain('"arguments":{"omitted_bytes":5008}');
  expect(text.length).toBeLessThan(4_000);
});

test('refused sign-ins have at most ten lines per second and network', async () => {
  const { open, lines } = newPlace();
  const audit = await open();
  for (let n = 0; n < 50; n += 1) audit.recordSignIn('203.0.113.7', 401, `r${n}`);
  audit.recordSignIn('203.0.113.8', 403, 'other');
  await audit.drain();
  const signIns = lines().filter(({ action }) => action === 'sign-in');
  expect(signIns.map(({ target }) => target)).toEqual([
    ...Array.from({ length: 10 }, () => '203.0.113.7'),
    ...['203.0.113.8', null],
  ]);
  expect(signIns.at(-1)).toMatchObject({ count: 40, outcome: 'refused' });
});

test('gateways with the same configuration use different files', async () => {
  const { open, folder } = newPlace();
  const [own, first, second] = [
    await open(),
    await open({}, { isShared: true }),
    await open({}, { isShared: true }),
  ];
  await Promise.all([own, first, second].map((audit) => audit.drain()));
  await (await open({}, { isShared: true })).drain();
  expect(readdirSync(folder).sort()).toEqual([
    ...['audit.jsonl', 'audit.stdio-1.jsonl', 'audit.stdio-2.jsonl', 'state'],
  ]);
});

test('a file without lines and a missing right to write fail the start', async () => {
  const { open, path, folder } = newPlace();
  writeFileSync(path, 'x'.repeat(200_000));
  await expect(open()).rejects.toMatchObject({ code: 'ERR_AUDIT_UNAVAILABLE' });
  await expect(open({ path: folder })).rejects.toMatchObject({ code: 'ERR_AUDIT_UNAVAILABLE' });
});

test('a line is on disk soon after its call', async () => {
  const { open, lines } = newPlace();
  const audit = await open();
  audit.record(call('api/a'));
  await sleep(500);
  expect(lines().at(-1)).toMatchObject({ target: 'api/a' });
  await audit.drain();
});

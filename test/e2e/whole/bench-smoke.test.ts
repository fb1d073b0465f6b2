// Smoke test of the benchmark: all measures with tiny sizes, without wrk and other gateways. The figures and
// durations are not tested.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const script = join(root, 'bench', 'run.mjs');
const scratch = mkdtempSync(join(tmpdir(), 'actor-gateway-'));
const runs: Run[] = [];

afterAll(async () => {
  for (const { child } of runs) child.kill('SIGTERM');
  await Promise.all(runs.map(({ ended }) => ended));
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
});

interface Sample {
  readonly round: number;
  readonly row: string;
  readonly column: string;
  readonly value: number;
  readonly unit: string;
}

interface Measure {
  readonly name: string;
  readonly environment: Readonly<Record<string, unknown>>;
  readonly samples: readonly Sample[];
}

interface Run {
  readonly child: ChildProcess;
  /** Parent of all temporary folders of the run. The processes are found by these folders. */
  readonly home: string;
  readonly ended: Promise<number | null>;
  output(): string;
}

function start(...args: string[]): Run {
  const home = join(scratch, `home-${runs.length}`);
  mkdirSync(home);
  const env = { ...process.env, TMPDIR: home, ACTOR_GATEWAY_DIST: process.env.ACTOR_GATEWAY_DIST ?? 'dist' };
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const exit = once(child, 'close').then(([code]) => code as number | null);
  const run = { child, home, ended: exit, output: () => output };
  runs.push(run);
  return run;
}

/** Pids of processes that were started in a folder, even if it was deleted. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`);
    } catch {
      return false; // The process has exited, or belongs to another user.
    }
  });
}

async function expectNothingLeft({ home }: Run): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (processesIn(home).length > 0 && Date.now() < deadline) await pause(20);
  expect(processesIn(home)).toEqual([]);
  expect(readdirSync(home)).toEqual([]);
}

describe('a smoke run of all benchmarks', () => {
  let measures: readonly Measure[];
  let run: Run;
  const samplesOf = (name: string) => measures.find((each) => each.name === name)?.samples ?? [];

  beforeAll(async () => {
    const json = join(scratch, 'bench.json');
    run = start('--smoke', '--json', json);
    expect(await run.ended, run.output()).toBe(0);
    measures = (JSON.parse(readFileSync(json, 'utf8')) as { measures: Measure[] }).measures;
  }, 300_000);

  test('returns samples of each benchmark', () => {
    const files = readdirSync(join(root, 'bench', 'measures'));
    expect(measures.map(({ name }) => `${name}.mjs`).sort()).toEqual(files.sort());
    for (const { name, samples } of measures) {
      expect(samples.length, name).toBeGreaterThan(0);
      for (const sample of samples)
        expect(sample, name).toMatchObject({ round: 1, unit: expect.any(String) });
      expect(
        samples.every(({ value }) => Number.isFinite(value)),
        name,
      ).toBe(true);
    }
  });

  test('returns samples for each goal, and the documents have a section per benchmark', async () => {
    const docs = join(root, 'docs');
    const files = readdirSync(docs).filter((file) => /^benchmarks.*\.md$/.test(file));
    const page = files.map((file) => readFileSync(join(docs, file), 'utf8')).join('\n');
    for (const { name, samples } of measures) {
      const { title, goals = [] } = (await import(join(root, 'bench', 'measures', `${name}.mjs`))) as {
        title: string;
        goals?: readonly { row: string }[];
      };
      expect(page).toContain(`## ${title}\n\n<!-- figures: ${name} -->\n`);
      const rows = samples.map(({ row }) => row);
      for (const { row } of goals) expect(rows, name).toContain(row);
    }
  });

  test('checks all responses at each endpoint of the gateway, sequential and concurrent', () => {
    const rows = [
      'gateway /rpc',
      'gateway /rpc, every call logged',
      'gateway /mcp/:id',
      'gateway /mcp',
      'gateway /mcp/:id, modern to legacy',
      'gateway /mcp, modern to legacy',
      'gateway /rpc, legacy to modern',
      'gateway /mcp/:id, modern to modern',
      'bare relay',
      'raw echo',
    ];
    const expected = [1, 16, 64].flatMap((count) =>
      rows.map((row) => ({ row, column: `answers at ${count}`, value: 3 * count })),
    );
    expect(samplesOf('throughput')).toMatchObject(expected);
  });

  test('reports the Node version and the number of CPU cores', () => {
    for (const { environment } of measures)
      expect(environment).toMatchObject({ node: process.version, cores: expect.any(Number) });
  });

  test('leaves no process and no file', () => expectNothingLeft(run));
});

test('a benchmark run that is interrupted leaves no process and no file', async () => {
  const run = start('throughput', '--smoke', '--rounds', '1000');
  const { stderr } = run.child;
  if (stderr === null) throw new Error('no stderr');
  const deadline = AbortSignal.timeout(60_000);
  while (!run.output().includes('round 2 of')) await once(stderr, 'data', { signal: deadline });
  expect(processesIn(run.home).length).toBeGreaterThan(2);
  run.child.kill('SIGINT');
  expect(await run.ended).toBe(130);
  await expectNothingLeft(run);
});

test('a benchmark of two builds alternates between them in each round', async () => {
  const json = join(scratch, 'against.json');
  const args = ['start', 'throughput', '--smoke', '--only', '/rpc$', '--against', 'dist', '--json', json];
  const run = start(...args);
  expect(await run.ended, run.output()).toBe(0);
  const { measures } = JSON.parse(readFileSync(json, 'utf8')) as {
    measures: readonly { samples: readonly (Sample & { build: number })[] }[];
  };
  for (const { samples } of measures) {
    const [before, after] = [0, 1].map((build) => samples.filter((sample) => sample.build === build));
    const steps = (of: typeof samples = []) => of.map(({ round, row, column }) => ({ round, row, column }));
    expect(steps(before).length).toBeGreaterThan(2);
    expect(steps(after)).toEqual(steps(before));
    expect(samples.slice(0, 4).map(({ build }) => build)).toEqual([0, 1, 0, 1]);
  }
  await expectNothingLeft(run);
});

test('the benchmark command rejects an unknown benchmark and prints its name', async () => {
  const run = start('throughputs');
  expect(await run.ended).toBe(2);
  expect(run.output()).toContain('unknown measure: throughputs');
});

describe('the check of responses before the load benchmark', () => {
  type Target = { row: string; url: string; headers: object; bodyOf: (n: number) => string };
  type Check = (target: Target, options: { calls: number; concurrency: number }) => Promise<number>;
  type Call = { id: unknown; params: { arguments: unknown } };

  /** Checks an echo server that makes each answer from the request and the previous request. */
  async function checked(answerOf: (call: Call, before: Call) => object): Promise<number> {
    const { check } = (await import(join(root, 'bench', 'check.mjs'))) as { check: Check };
    const { legacyCall } = (await import(join(root, 'bench', 'messages.mjs'))) as {
      legacyCall: (n: number) => string;
    };
    let before: Call | undefined;
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const call = JSON.parse(text) as Call;
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ jsonrpc: '2.0', ...answerOf(call, before ?? call) }));
        before = call;
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      return await check({ row: 'echo', url, headers: {}, bodyOf: legacyCall }, { calls: 6, concurrency: 2 });
    } finally {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    }
  }

  const result = ({ params }: Call) => ({
    content: [{ type: 'text', text: JSON.stringify(params.arguments) }],
  });

  test('accepts an echo server that responds correctly', async () => {
    expect(await checked((call) => ({ id: call.id, result: result(call) }))).toBe(6);
  });

  test.each([
    [
      'the id of another call',
      (call: Call, other: Call) => ({ id: other.id, result: result(call) }),
      /is for/,
    ],
    ['an id of another type', (call: Call) => ({ id: String(call.id), result: result(call) }), /is for/],
    [
      'the arguments of another call',
      (call: Call, other: Call) => ({ id: call.id, result: result(other) }),
      /other/,
    ],
    ['an error', (call: Call) => ({ id: call.id, error: { code: -32603, message: 'no' } }), /an error, no/],
  ])('rejects responses with %s', async (_, answerOf, message) => {
    await expect(checked(answerOf)).rejects.toThrow(message);
  });
});

describe('the benchmark report', () => {
  type ReportInput = readonly (Omit<Sample, 'unit'> & { unit?: string })[];
  interface Report {
    reportOf(measure: object, samples: ReportInput): string;
    comparisonReportOf(names: readonly string[], samples: ReportInput): string;
    replaceFigures(page: string, result: object): string;
  }
  const report = async () => (await import(join(root, 'bench', 'report.mjs'))) as Report;
  const rates = (row: string, ...values: number[]) =>
    values.map((value, at) => ({ round: at + 1, row, column: 'calls/s', value, unit: 'calls/s' }));
  const against = (factor: number, sense: string) => ({
    goals: [{ row: 'own', column: 'calls/s', against: ['a', 'b'], factor, sense }],
  });
  const samples = [...rates('own', 100, 4000, 900), ...rates('a', 10, 100, 100), ...rates('b', 5, 400, 50)];

  test('contains the median with minimum and maximum', async () => {
    expect((await report()).reportOf({}, samples)).toContain('| own | 900 (100–4,000) |');
  });

  test('contains the ratio to the best other gateway, per round', async () => {
    const { reportOf } = await report();
    expect(reportOf(against(10, 'at least'), samples)).toMatch(/\*\*met\*\*, 10 \(9–10\) ×/);
    expect(reportOf(against(10.1, 'at least'), samples)).toMatch(/\*\*not met\*\*/);
    expect(reportOf(against(20, 'at most'), samples)).toMatch(/\*\*met\*\*, 20 \(18–40\) ×/);
    expect(
      reportOf({ goals: [{ row: 'own', column: 'p50', limit: 1, sense: 'at most' }] }, samples),
    ).toContain('not measured');
  });

  test('contains the figures of both builds and their ratio in each round', async () => {
    const of = (build: number, ...values: number[]) =>
      rates('own', ...values).map((sample) => ({ build, ...sample }));
    const text = (await report()).comparisonReportOf(
      ['old', 'new'],
      [...of(0, 100, 1000, 10), ...of(1, 90, 1100, 10)],
    );
    expect(text).toContain('|  |  | old | new | ratio |');
    expect(text).toContain('| own | calls/s | 100 (10–1,000) | 90 (10–1,100) | 1 (0.9–1.1) |');
  });

  test('rewrites only the sections of the benchmarks that ran', async () => {
    const { replaceFigures } = await report();
    const section = (name: string) => `<!-- figures: ${name} -->\nold\n<!-- end of figures -->`;
    const environment = { node: 'v20', cores: 2 };
    const result = { measure: { name: 'one', about: 'How.' }, environment, samples };
    const page = replaceFigures(`before ${section('one')} between ${section('two')} after`, result);
    expect(page).toContain('How.');
    expect(page.match(/old/g)).toHaveLength(1);
    expect(page).toMatch(/^before [\s\S]* between <!-- figures: two -->\nold\n[\s\S]* after$/);
    expect(() => replaceFigures('nothing', result)).toThrow('no section for the figures of one');
  });
});

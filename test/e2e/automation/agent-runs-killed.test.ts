// Agent runs with real model and tool servers. Each run is blocked at a different step when the gateway is
// killed. Calls with effects run once, stored answers are not requested again, and the answer is sent once.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agent, eventually, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import type { ScriptedAnswer } from '../../fixtures/models/reply.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

/** Model answers per run, by the number of answers whose tool results the model has received. */
const script = (run: number): readonly ScriptedAnswer[] => [
  {
    text: 'Let me look.',
    calls: [
      { name: 'look', input: { run } },
      { name: 'pay', input: { run, n: 1 } },
    ],
  },
  { calls: [{ name: 'pay', input: { run, n: 2 } }] },
  { text: `All of ${run} is paid.` },
];
/** Requests per run: three to the model, three to tools. */
const REQUESTS_PER_RUN = 6;
const RUNS = Array.from({ length: REQUESTS_PER_RUN }, (_, n) => n + 1);

interface Report {
  readonly tool: string;
  readonly args: { readonly run: number; readonly n?: number };
  readonly key: string;
}

/** Blocks run `n` at the n-th request until released. */
class RunBlocker {
  readonly reports: Report[] = [];
  readonly blockedRuns = new Set<number>();
  readonly #requestCounts = new Map<number, number>();
  readonly #releases: (() => void)[] = [];
  #isReleased = false;

  async blockAtStep(run: number): Promise<void> {
    const n = (this.#requestCounts.get(run) ?? 0) + 1;
    this.#requestCounts.set(run, n);
    if (n !== run || this.#isReleased) return;
    this.blockedRuns.add(run);
    await new Promise<void>((resolve) => this.#releases.push(resolve));
  }

  release(): void {
    this.#isReleased = true;
    for (const each of this.#releases.splice(0)) each();
  }
}

let blocker = new RunBlocker();
let model: ModelServer;
let tools: Server;

interface Message {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
}

const messagesIn = ({ body }: RecordedRequest) =>
  (body as { readonly messages: readonly Message[] }).messages;
const runIn = (request: RecordedRequest) =>
  Number(/Pay what is open of (\d+)/.exec(JSON.stringify(messagesIn(request)))?.[1]);
const countAnswers = (request: RecordedRequest) =>
  messagesIn(request).filter(({ tool_calls }) => tool_calls !== undefined).length;

beforeAll(async () => {
  model = await ModelServer.start();
  model.answerWith(async (request) => {
    const run = runIn(request);
    await blocker.blockAtStep(run);
    return script(run)[countAnswers(request)];
  });
  tools = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const report = JSON.parse(Buffer.concat(pieces).toString()) as Report;
    blocker.reports.push(report);
    await blocker.blockAtStep(report.args.run);
    response.end();
  });
  tools.listen(0, '127.0.0.1');
  await once(tools, 'listening');
});

afterAll(async () => {
  tools.close().closeAllConnections();
});

function start(folder?: string): Promise<GatewayProcess> {
  const settings = { providers: { local: { base_url: `${model.url}/v1` } } };
  if (folder !== undefined) return startAutomation({ folder, settings });
  const url = `http://127.0.0.1:${(tools.address() as AddressInfo).port}`;
  const shop = { name: 'shop', ...fault('reports'), env: { REPORTS: url } };
  return startAutomation({
    settings,
    resources: [agent('clerk', { model: 'local:one', mcp_servers: [shop] })],
  });
}

async function begin(gateway: GatewayProcess, run: number): Promise<string> {
  const { json } = await ask(`${gateway.url}/agents/clerk/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input: `Pay what is open of ${run}.` }),
  });
  return json.id as string;
}

const waitForEnd = (gateway: GatewayProcess, id: string) =>
  eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`);
    expect(json).toMatchObject({ state: 'done' });
    return json;
  });

/** Number of model requests per run, by the number of answers that they contain. */
const countRequestsByAnswers = (run: number) =>
  [0, 1, 2].map(
    (told) => model.requests.filter((each) => runIn(each) === run && countAnswers(each) === told).length,
  );

describe('a run of an agent', () => {
  test.each(['during a step', 'shortly after a step'])(
    'resumes after the gateway is killed %s, for every step of the run',
    async (when) => {
      blocker = new RunBlocker();
      model.requests.length = 0;
      let gateway = await start();
      const ids = await Promise.all(RUNS.map((run) => begin(gateway, run)));
      await eventually(() => expect(blocker.blockedRuns.size).toBe(REQUESTS_PER_RUN));
      if (when === 'shortly after a step') {
        blocker.release();
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      }
      await gateway.stop('SIGKILL');
      blocker.release();
      gateway = await start(gateway.folder);
      const runs = await Promise.all(ids.map((id) => waitForEnd(gateway, id)));

      for (const [at, run] of RUNS.entries()) {
        const { answer, kind, name, steps } = runs[at] ?? {};
        expect({ answer, kind, name }).toEqual({
          answer: `All of ${run} is paid.`,
          kind: 'agent',
          name: 'clerk',
        });
        const kinds = (steps as readonly { readonly kind: string }[]).map((step) => step.kind);
        expect(kinds.filter((each) => each === 'answer')).toHaveLength(3);
        expect(kinds.filter((each) => each === 'ended')).toHaveLength(1);
        // Only the interrupted request is repeated. Stored answers are used.
        const requestCount = countRequestsByAnswers(run);
        expect(Math.min(...requestCount)).toBe(1);
        expect(requestCount.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4);

        const reports = blocker.reports.filter(({ args }) => args.run === run);
        const pays = reports.filter(({ tool }) => tool === 'pay');
        for (const n of [1, 2]) expect(pays.filter(({ args }) => args.n === n).length).toBeLessThanOrEqual(1);
        const lookCalls = reports.filter(({ tool }) => tool === 'look');
        expect(new Set(lookCalls.map(({ key }) => key)).size).toBe(1);
      }
      const keys = blocker.reports.filter(({ tool }) => tool === 'pay').map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
      // Calls that were not interrupted ran once.
      expect(blocker.reports.filter(({ args }) => args.run === 1)).toHaveLength(3);
      expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
      await gateway.stop();
    },
  );
});

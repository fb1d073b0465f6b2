// Runs of an agent with a real model server and a real tool server. Each stands still at another of its steps when the gateway is
// killed: nothing with effects happens twice, what has a row is not asked for again, and the answer comes once.

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

/** What the model says in a run, by how many of its answers it has been told the results of. */
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
/** What happens in a run: three questions to the model, three calls. */
const HAPPENINGS = 6;
const RUNS = Array.from({ length: HAPPENINGS }, (_, n) => n + 1);

interface Report {
  readonly tool: string;
  readonly args: { readonly run: number; readonly n?: number };
  readonly key: string;
}

/** A run stands still at the happening of its own number, until it is let go. */
class Scene {
  readonly reports: Report[] = [];
  readonly standing = new Set<number>();
  readonly #happened = new Map<number, number>();
  readonly #letGo: (() => void)[] = [];
  #isOver = false;

  async happens(run: number): Promise<void> {
    const n = (this.#happened.get(run) ?? 0) + 1;
    this.#happened.set(run, n);
    if (n !== run || this.#isOver) return;
    this.standing.add(run);
    await new Promise<void>((resolve) => this.#letGo.push(resolve));
  }

  letGo(): void {
    this.#isOver = true;
    for (const each of this.#letGo.splice(0)) each();
  }
}

let scene = new Scene();
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
const toldIn = (request: RecordedRequest) =>
  messagesIn(request).filter(({ tool_calls }) => tool_calls !== undefined).length;

beforeAll(async () => {
  model = await ModelServer.start();
  model.answerWith(async (request) => {
    const run = runIn(request);
    await scene.happens(run);
    return script(run)[toldIn(request)];
  });
  tools = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const report = JSON.parse(Buffer.concat(pieces).toString()) as Report;
    scene.reports.push(report);
    await scene.happens(report.args.run);
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

const ended = (gateway: GatewayProcess, id: string) =>
  eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`);
    expect(json).toMatchObject({ state: 'done' });
    return json;
  });

/** How often the model was asked in a run; for each number of answers that it was told the results of. */
const askedIn = (run: number) =>
  [0, 1, 2].map(
    (told) => model.requests.filter((each) => runIn(each) === run && toldIn(each) === told).length,
  );

describe('the run of an agent', () => {
  test.each(['while it happens', 'a moment later'])(
    'goes on where it was when the gateway is killed %s, at each of its steps',
    async (when) => {
      scene = new Scene();
      model.requests.length = 0;
      let gateway = await start();
      const ids = await Promise.all(RUNS.map((run) => begin(gateway, run)));
      await eventually(() => expect(scene.standing.size).toBe(HAPPENINGS));
      if (when === 'a moment later') {
        scene.letGo();
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      }
      await gateway.stop('SIGKILL');
      scene.letGo();
      gateway = await start(gateway.folder);
      const runs = await Promise.all(ids.map((id) => ended(gateway, id)));

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
        // What has a row is not asked for again: the one question that the kill has cut off is.
        const asked = askedIn(run);
        expect(Math.min(...asked)).toBe(1);
        expect(asked.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4);

        const reports = scene.reports.filter(({ args }) => args.run === run);
        const pays = reports.filter(({ tool }) => tool === 'pay');
        for (const n of [1, 2]) expect(pays.filter(({ args }) => args.n === n).length).toBeLessThanOrEqual(1);
        const looks = reports.filter(({ tool }) => tool === 'look');
        expect(new Set(looks.map(({ key }) => key)).size).toBe(1);
      }
      const keys = scene.reports.filter(({ tool }) => tool === 'pay').map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
      // What was not cut off has happened.
      expect(scene.reports.filter(({ args }) => args.run === 1)).toHaveLength(3);
      expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
      await gateway.stop();
    },
  );
});

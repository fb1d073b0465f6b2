// A server with `placement: cluster` on several gateways, with a real PostgreSQL: the node that runs it, and
// calls when that node is killed, suspended or stopped, or the database is unavailable.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { sharedPostgres } from '../../fixtures/store/shared-postgres.ts';

const puppet = `${import.meta.dirname}/../../fixtures/servers/puppet.mjs`;
const postgres = await sharedPostgres();

interface Node extends GatewayProcess {
  readonly name: string;
}

const stopped = new Set<Node>();
afterEach(() => {
  for (const { pid } of stopped) process.kill(pid, 'SIGCONT');
  stopped.clear();
});

/** Starts nodes. `mark` is an argument of the server process, by which the test finds it on any node. */
async function nodesOf(names: readonly string[], mark: string, entry: object = {}): Promise<Node[]> {
  const url = await postgres.newDatabase();
  return Promise.all(
    names.map(async (name) => ({
      name,
      ...(await startGateway({
        servers: { one: { command: process.execPath, args: [puppet, mark], placement: 'cluster', ...entry } },
        settings: {
          store: { postgres: { url } },
          node: { name, address: `127.0.0.1:${await freePort()}`, secret: 'a-secret-that-nodes-share' },
          shutdown_seconds: 6,
        },
      })),
    })),
  );
}

interface Answer {
  readonly result?: { readonly content: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

async function call({ url }: Node, name: string, args: object = {}): Promise<Answer> {
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-mcp-server': 'one' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  return (await response.json()) as Answer;
}

async function pidAt(node: Node): Promise<number> {
  const answer = await call(node, 'pid');
  expect(answer.error).toBeUndefined();
  return Number(answer.result?.content[0]?.text);
}

async function placementAt({ url }: Node): Promise<string | null> {
  const { servers } = (await (await fetch(`${url}/servers`)).json()) as {
    servers: { node: string | null }[];
  };
  return servers[0]?.node ?? null;
}

function processesOf(mark: string): number[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const args = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
      return args.includes(puppet) && args.includes(mark) ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

function holderOf(nodes: readonly Node[], name: string | null): { holder: Node; others: Node[] } {
  const holder = nodes.find((node) => node.name === name);
  if (holder === undefined) throw new Error(`the server runs at none of them: ${name}`);
  return { holder, others: nodes.filter((node) => node !== holder) };
}

test('a server runs once for all nodes, and after kill -9 of its node another node runs it within the lease', async () => {
  const nodes = await nodesOf(['a', 'b', 'c'], 'mark-kill');
  const pids = await Promise.all(nodes.map(pidAt));
  expect(new Set(pids).size).toBe(1);
  expect(processesOf('mark-kill')).toEqual([pids[0]]);
  const placements = await Promise.all(nodes.map(placementAt));
  expect(new Set(placements).size).toBe(1);
  const { holder, others } = holderOf(nodes, placements[0] ?? null);
  const [other] = others as [Node];
  const interrupted = call(other, 'do', { steps: [{ ms: 20_000 }] });
  await elapse(300);
  const killedAt = performance.now();
  await holder.stop('SIGKILL');
  expect((await interrupted).error?.message).toMatch(
    /^(?:the connection to )?node \w, which runs server one/,
  );
  const next = await eventually(() => pidAt(other));
  // Lease of 2 s and the start, on a busy machine.
  expect(performance.now() - killedAt).toBeLessThan(6_000);
  expect(next).not.toBe(pids[0]);
  // Each node may need a call to notice the lost connection.
  expect(await Promise.all(others.map((node) => eventually(() => pidAt(node))))).toEqual([next, next]);
  await eventually(() => expect(processesOf('mark-kill')).toEqual([next]));
  await Promise.all(others.map((node) => node.stop()));
  await eventually(() => expect(processesOf('mark-kill')).toEqual([]));
});

test('the kill of a node does not count as a failure of its servers: other nodes start them again', async () => {
  const restart = { intensity: 0, park_seconds: 600 };
  const nodes = await nodesOf(['a', 'b', 'c'], 'mark-leave', { restart });
  const [first] = await Promise.all(nodes.map(pidAt));
  const { holder, others } = holderOf(nodes, await placementAt(nodes[0] as Node));
  // These calls find the node while it is still a member of the cluster, but unreachable.
  await holder.stop('SIGKILL');
  const pids = await Promise.all(others.map((node) => eventually(() => pidAt(node))));
  expect(new Set(pids).size).toBe(1);
  expect(pids[0]).not.toBe(first);
  // With `intensity: 0`, one counted failure would park the server. The state shows that none was counted.
  const states = await Promise.all(others.map(async ({ url }) => (await fetch(`${url}/servers/one`)).json()));
  for (const { state } of states as { state: string }[]) expect(state).toBe('running');
});

test('a stopping node releases the server immediately, and current calls are answered', async () => {
  const nodes = await nodesOf(['a', 'b'], 'mark-term');
  const first = await pidAt(nodes[0] as Node);
  expect(await pidAt(nodes[1] as Node)).toBe(first);
  const { holder, others } = holderOf(nodes, await placementAt(nodes[0] as Node));
  const [other] = others as [Node];
  const answer = { content: [{ type: 'text', text: 'answered' }] };
  const slow = call(other, 'do', { steps: [{ ms: 800 }, { answer: JSON.stringify(answer) }] });
  await elapse(200);
  expect(await holder.stop()).toBe(0);
  expect((await slow).result?.content[0]?.text).toBe('answered');
  const next = await eventually(() => pidAt(other), 5_000);
  expect(next).not.toBe(first);
  expect(processesOf('mark-term')).toEqual([next]);
  expect(await other.stop()).toBe(0);
});

test('a node suspended beyond its lease stops the server when it continues, and sends calls to the new node', async () => {
  const nodes = await nodesOf(['a', 'b'], 'mark-halt');
  const first = await pidAt(nodes[0] as Node);
  await pidAt(nodes[1] as Node);
  const { holder, others } = holderOf(nodes, await placementAt(nodes[0] as Node));
  const [other] = others as [Node];
  process.kill(holder.pid, 'SIGSTOP');
  stopped.add(holder);
  const next = await eventually(async () => {
    const pid = await pidAt(other);
    expect(pid).not.toBe(first);
    return pid;
  }, 10_000);
  process.kill(holder.pid, 'SIGCONT');
  stopped.delete(holder);
  await eventually(() => expect(processesOf('mark-halt')).toEqual([next]));
  expect(await eventually(() => pidAt(holder), 10_000)).toBe(next);
  await Promise.all(nodes.map((node) => node.stop()));
});

test('in a database outage a server stops before its lease expires and calls report the reason; then the server restarts', async () => {
  const nodes = await nodesOf(['a', 'b'], 'mark-away', {
    start_timeout_seconds: 3,
    restart: { intensity: 1, park_seconds: 1 },
  });
  const first = await pidAt(nodes[0] as Node);
  await postgres.kill();
  await eventually(() => expect(processesOf('mark-away')).toEqual([]), 5_000);
  expect((await call(nodes[0] as Node, 'pid')).error?.message).toContain('the database');
  await postgres.start();
  const next = await eventually(() => pidAt(nodes[1] as Node), 20_000);
  expect(next).not.toBe(first);
  expect(await eventually(() => pidAt(nodes[0] as Node), 20_000)).toBe(next);
  await Promise.all(nodes.map((node) => node.stop()));
});

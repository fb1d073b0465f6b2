// Servers of agents when agent files change during runs.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ToolBox } from '../../../actors/agents/model-agent/tool-box.ts';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import type { GatewayRuntime } from '../../../actors/gateway/gateway.ts';
import type { OpenStore } from '../../../actors/store/store-part.ts';
import { loadConfig } from '../../../config/load-config.ts';
import type { AgentServer } from '../../../config/resources/agents/model-runtime.ts';
import { automateFolders } from '../../../src/automate.ts';
import { ConfigurationFiles } from '../../../src/configuration-files.ts';
import { BodyBudget } from '../../../src/http/body/body-budget.ts';
import { agent, SECRET, trigger, writeResources } from '../../fixtures/automation/automation.ts';
import { isAlive, until } from '../../fixtures/clients/raw-session.ts';
import { bootGateway } from '../../fixtures/gateway/boot-gateway.ts';
import { temporaryFolder, writeConfiguration } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { MemoryStore } from '../../fixtures/store/memory-store.ts';

const folder = temporaryFolder();
let gateway: GatewayRuntime;
let automation: RunningAutomation;
let reload: () => Promise<void>;

/** Writes triggers, and an agent whose server returns `word`. */
function write(word: string, more: Parameters<typeof writeResources>[1] = []): void {
  const server = { name: 'echo', ...fault('echo', { env: { SAY: word } }) };
  writeResources(folder, [
    trigger('orders', {
      type: 'HTTP',
      default_agent: 'clerk',
      config: { path: '/orders', webhook_secret: SECRET },
    }),
    agent('clerk', { model: 'ollama:small', mcp_servers: [server] }),
    ...more,
  ]);
}

beforeAll(async () => {
  write('first');
  const spec = { triggers: { directory: './triggers' }, agents: { directory: './agents' } };
  const loaded = await loadConfig(writeConfiguration(folder, { servers: {}, settings: { spec } }), {});
  const openStore: OpenStore = async (_, host) => {
    const store = new MemoryStore();
    await host.prepare(store);
    return store;
  };
  const files = new ConfigurationFiles({ ...loaded, environment: {} }, async () => loaded);
  const folders = await automateFolders(loaded.config, files);
  gateway = await bootGateway({ ...loaded, environment: process.env, openStore }, async (booted) => {
    const triggers = await folders.prepare(booted).start(BodyBudget.for(1_000));
    reload = () => folders.reloadOf(triggers).reload(loaded, async () => {});
    ({ automation } = triggers);
  });
});

afterAll(async () => {
  if (!gateway.life.isEnding) await gateway.stop();
});

const signal = new AbortController().signal;
const serversNow = (): readonly AgentServer[] => {
  const clerk = automation.targets.loaded.agents.find(({ name }) => name === 'clerk');
  return clerk?.runtime?.kind === 'model' ? clerk.runtime.servers : [];
};
const pidOf = async (box: ToolBox) => {
  const options = { key: 'run/call', signal, timeoutMs: 20_000, trace: '' };
  return Number((await box.call({ server: 'echo', tool: 'pid' }, {}, options)).text);
};
const tree = () => gateway.life.find('agent servers')?.getSnapshot().context.children.size as number;

test('an agent run keeps its MCP servers if a reload changes the agent file, and the next run uses the new servers', async () => {
  expect(gateway.life.find('agent servers')).toBeUndefined();
  const before = serversNow();
  const first = automation.targets.toolBoxes.open('clerk', before, []);
  const pid = await pidOf(first);
  write('second');
  await reload();
  const second = automation.targets.toolBoxes.open('clerk', serversNow(), []);
  const pidOfSecond = await pidOf(second);
  expect(pidOfSecond).not.toBe(pid);
  expect(await pidOf(first)).toBe(pid);
  expect(tree()).toBe(2);
  first.release();
  await until('the end of the first', () => !isAlive(pid) && tree() === 1);
  second.release();
  // A server that the reload does not change keeps its process.
  write('second', [agent('other', { model: 'ollama:small' })]);
  await reload();
  const third = automation.targets.toolBoxes.open('clerk', serversNow(), []);
  expect(await pidOf(third)).toBe(pidOfSecond);
  third.release();
});

test('the servers of an agent stop when the agent is removed or the gateway stops', async () => {
  const box = automation.targets.toolBoxes.open('clerk', serversNow(), []);
  const pid = await pidOf(box);
  writeResources(folder, []);
  await reload();
  expect(await pidOf(box)).toBe(pid);
  box.release();
  await until('its end', () => !isAlive(pid));
  write('third');
  await reload();
  const last = automation.targets.toolBoxes.open('clerk', serversNow(), []);
  const lastPid = await pidOf(last);
  await gateway.stop();
  expect(isAlive(lastPid)).toBe(false);
  await expect(pidOf(last)).rejects.toMatchObject({ code: 'ERR_STOPPED', isUnsent: true });
});

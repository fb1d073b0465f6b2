// Runs the built gateway in a temporary folder, with the example trigger of a chat and the example agents.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';
import { builtInCommand } from '../../actors/events/built-in-commands.ts';
import type { LocalChat } from '../../test/fixtures/chats/local-chat.ts';
import { newFolder, noteGateway } from './folders.ts';

/** Exceeds the shutdown time of the gateway. */
const END_MS = 10_000;
const LAST_LINES = 20;

/** Command in the trigger's file. */
export interface CommandBinding {
  readonly agent?: string;
  readonly description?: string;
  readonly parameters?: readonly { readonly name: string; readonly required?: boolean }[];
}

export interface Gateway {
  readonly url: string;
  /** Commands for the example agent, by name without slash. */
  readonly commands: ReadonlyMap<string, CommandBinding>;
  /** Built-in commands in the chat's menu. */
  readonly builtIn: ReadonlyMap<string, CommandBinding>;
  /** Rejects with the last output if the gateway ends unexpectedly. */
  readonly failed: Promise<never>;
  /** Returns true if no event is pending. */
  isIdle(): Promise<boolean>;
  /** Returns the number of accepted events. */
  countAccepted(): Promise<number>;
  /** Stops the gateway and removes its folder. */
  end(): Promise<void>;
}

export async function startGateway(chat: LocalChat, root: string, signal: AbortSignal): Promise<Gateway> {
  const folder = newFolder();
  const example = join(root, chat.example);
  mkdirSync(join(folder, 'triggers'));
  copyFileSync(example, join(folder, 'triggers', basename(example)));
  writeFileSync(
    join(folder, 'gateway.yaml'),
    JSON.stringify({
      listen_addr: '127.0.0.1:0',
      shutdown_seconds: 2,
      spec: {
        triggers: { directory: join(folder, 'triggers') },
        agents: { directory: join(root, 'examples/agents') },
      },
    }),
  );
  const main = join(resolve(root, process.env.ACTOR_GATEWAY_DIST ?? 'dist'), 'main.js');
  // A separate process group: Ctrl-C reaches only this program, which then stops the gateway.
  const child = spawn(process.execPath, [main, '--config', join(folder, 'gateway.yaml')], {
    cwd: folder,
    env: { ...process.env, ...chat.variables, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  // If this program is killed, its next start stops the gateway and removes the folder.
  if (child.pid !== undefined) noteGateway(folder, child.pid);
  const end = async () => {
    await stop(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const { port, failed } = await ready(child, signal);
    const url = `http://127.0.0.1:${port}`;
    const deliveries = async (query: string) => {
      const response = await fetch(`${url}/deliveries?limit=1000&${query}`);
      return ((await response.json()) as { readonly deliveries: readonly unknown[] }).deliveries;
    };
    // The source of an event is the type of its trigger in lower case.
    const source = chat.trigger('desk').type.toLowerCase();
    return {
      url,
      commands: commandsIn(example),
      builtIn: await builtInOf(url),
      failed,
      isIdle: async () => (await deliveries('state=queued,running,retrying')).length === 0,
      countAccepted: async () => (await deliveries(`source=${source}`)).length,
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Waits for the line `gateway is ready` in the log. Rejects if the process ends before, or on abort. */
function ready(child: ChildProcess, signal: AbortSignal): Promise<{ port: number; failed: Promise<never> }> {
  const last: string[] = [];
  return new Promise((resolveReady, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
    const failed = new Promise<never>((_, fail) => {
      child.once('error', fail);
      child.once('close', (code, by) =>
        fail(new Error(`the gateway ended with ${by ?? code}:\n${last.join('\n')}`)),
      );
    });
    failed.catch(reject);
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        last.push(line);
        if (last.length > LAST_LINES) last.shift();
        if (!line.includes('"gateway is ready"')) return;
        const { address } = JSON.parse(line) as { readonly address: { readonly port: number } };
        resolveReady({ port: address.port, failed });
      });
    }
  });
}

/** Stops the process with SIGTERM, and kills it after END_MS. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await closed;
  clearTimeout(timer);
}

/** Returns the built-in commands in the menu of the gateway's only trigger. */
async function builtInOf(url: string): Promise<ReadonlyMap<string, CommandBinding>> {
  const read = async <T>(path: string) => (await (await fetch(`${url}/${path}`)).json()) as T;
  const { triggers } = await read<{ readonly triggers: readonly { readonly name: string }[] }>('triggers');
  const { menu } = await read<{ readonly menu?: readonly { readonly command: string }[] | null }>(
    `triggers/${triggers[0]?.name}`,
  );
  const all = (menu ?? []).flatMap(({ command }) => builtInCommand(command) ?? []);
  return new Map(all.map(({ name, description, options }) => [name, { description, parameters: options }]));
}

/** Returns the commands of the example trigger that the agent `desk` answers. */
function commandsIn(example: string): ReadonlyMap<string, CommandBinding> {
  const { spec } = parse(readFileSync(example, 'utf8')) as {
    readonly spec: { readonly commands?: Readonly<Record<string, CommandBinding>> };
  };
  const all = Object.entries(spec.commands ?? {});
  const answered = all.filter(([name, { agent }]) => agent === 'desk' && /^\/?[\w-]+$/.test(name));
  return new Map(answered.map(([name, binding]) => [name.replace(/^\//, ''), binding]));
}

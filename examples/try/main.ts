// Runs a chat in this terminal (a local platform, a gateway with the example trigger, and an agent with
// scripted answers), or a stand-in for a model. Cleans up on every exit (`/quit`, end of input, Ctrl-C,
// closed terminal or pipe, failed gateway). After kill -9, the next start cleans up.

import { parseArgs } from 'node:util';
import { resolveType } from '../../config/resources/aliases.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import { localChats } from '../../test/fixtures/chats/local-chats.ts';
import { Conversation } from './conversation.ts';
import { removeLeft } from './folders.ts';
import { startGateway } from './gateway.ts';
import { serveModel } from './model.ts';

const names = Object.keys(localChats);
/** Default port in the examples of agents with a model. */
const MODEL_PORT = '8791';

const help = `Usage: npm run try -- NAME

A chat in this terminal, without an account: a local platform, a gateway with the example trigger of that chat,
and an agent with scripted answers.

NAME is one of
${names.map((name) => `  ${name}`).join('\n')}

Aliases of trigger types are supported as well.
Typed text is sent as a message; /NAME … is a command, #2 or its title presses a button. /help lists the rest.

Or: npm run try -- model [--port ${MODEL_PORT}]

A stand-in for a model with the OpenAI protocol on this machine, which follows rules; for the agents in
examples/assistant-automation.yaml.
`;

/** Returns the exit code. `root` is the project folder. */
export async function main(args: readonly string[], root: string): Promise<number> {
  const complain = (fault: string) => {
    process.stderr.write(`${fault}\n\n${help}`);
    return 2;
  };
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return complain((error as Error).message);
  }
  if (parsed.values.help) {
    process.stdout.write(help);
    return 0;
  }
  const [name, ...more] = parsed.positionals;
  if (name === undefined) return complain('the name of a chat is missing');
  if (name === 'model' && more.length === 0) {
    const port = parsed.values.port ?? MODEL_PORT;
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      return complain(`${JSON.stringify(port)} is not a port`);
    return tryModel(Number(port));
  }
  if (parsed.values.port !== undefined) return complain('--port is only valid for model');
  const type = resolveType(name);
  const known = Object.hasOwn(localChats, name) || type === undefined ? name : platformOf(type);
  const make = Object.hasOwn(localChats, known) ? localChats[known] : undefined;
  if (make === undefined) return complain(`unknown chat ${JSON.stringify(name)}`);
  if (more.length > 0) return complain('only one chat is possible');

  const { signal, release } = exitSignal();
  await removeLeft();
  const chat = await make().start();
  try {
    const gateway = await startGateway(chat, root, signal);
    try {
      await chat.attach(gateway.url);
      return await new Conversation(chat, gateway, signal).run();
    } finally {
      await gateway.end();
    }
  } catch (error) {
    if (signal.aborted) return 0;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    release();
    await chat.stop();
  }
}

async function tryModel(port: number): Promise<number> {
  const { signal, release } = exitSignal();
  try {
    return await serveModel(port, signal);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    release();
  }
}

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h', default: false }, port: { type: 'string' } },
  });

/**
 * Aborts on a signal, on a closed output, and when the parent shell has ended: npm starts this program
 * through a shell, which ends on a signal without passing it on.
 */
function exitSignal(): { readonly signal: AbortSignal; release(): void } {
  const ending = new AbortController();
  const end = () => ending.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const each of signals) process.on(each, end);
  // Not removed later: further writes fail as well.
  process.stdout.on('error', end);
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid !== parent) end();
  }, 500);
  return {
    signal: ending.signal,
    release() {
      clearInterval(watch);
      for (const each of signals) process.removeListener(each, end);
    },
  };
}

// A chat in this terminal: a local platform, a gateway with the example trigger of that chat, and an agent that answers by rules. Or a
// stand-in for a model.
// However it ends (`/quit`, the end of the input, Ctrl-C, a closed terminal or pipe, a gateway that fails), nothing of it is left
// behind; what a kill -9 leaves the next one removes.

import { parseArgs } from 'node:util';
import { typeMeant } from '../../config/resources/aliases.ts';
import { platformOf } from '../../config/resources/triggers/trigger-types.ts';
import { localChats } from '../../test/fixtures/chats/local-chats.ts';
import { Conversation } from './conversation.ts';
import { removeLeft } from './folders.ts';
import { startGateway } from './gateway.ts';
import { serveModel } from './model.ts';

const names = Object.keys(localChats);
/** The one that the examples of agents with a model ask at. */
const MODEL_PORT = '8791';

const help = `Usage: npm run try -- NAME

A chat in this terminal, without an account: a local platform, a gateway with the example trigger of that chat,
and an agent that answers by rules.

NAME is one of
${names.map((name) => `  ${name}`).join('\n')}

Spellings that a trigger's type may have are understood as well.
What you type is said; /NAME … is a command, #2 or its title presses a button. /help lists the rest.

Or: npm run try -- model [--port ${MODEL_PORT}]

A stand-in for a model, that speaks the OpenAI protocol on this machine and follows rules, for the agents of
examples/assistant-automation.yaml.
`;

/** Gives the exit code. `root` is the folder of the project. */
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
  if (name === undefined) return complain('which chat?');
  if (name === 'model' && more.length === 0) {
    const port = parsed.values.port ?? MODEL_PORT;
    if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
      return complain(`${JSON.stringify(port)} is no port`);
    return tryModel(Number(port));
  }
  if (parsed.values.port !== undefined) return complain('only model has a port');
  const type = typeMeant(name);
  const known = Object.hasOwn(localChats, name) || type === undefined ? name : platformOf(type);
  const make = Object.hasOwn(localChats, known) ? localChats[known] : undefined;
  if (make === undefined) return complain(`there is no chat ${JSON.stringify(name)}`);
  if (more.length > 0) return complain('one chat at a time');

  const { signal, release } = untilTold();
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
  const { signal, release } = untilTold();
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
 * Aborted by a signal, when nobody reads what is drawn any more, and when the shell that npm started this through is gone: that dies
 * of a signal without passing it on.
 */
function untilTold(): { readonly signal: AbortSignal; release(): void } {
  const ending = new AbortController();
  const end = () => ending.abort();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const each of signals) process.on(each, end);
  // For good: what is written after that fails as well.
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

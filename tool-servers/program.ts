// A tool server as a program: reads its command line, serves MCP on stdio, and ends when its client does.
//
//   starting ── start() ──► serving ── stdin ends, a signal, a broken pipe ──► stopping ──► exit
//
// 1. Nothing but protocol messages is written to stdout; people are told on stderr.
// 2. When stdin ends, requests already read are answered first, for LAST_ANSWERS_MS at most.
// 3. Calls that run are told to end, and may tidy up for CALLS_MS. 4. The program ends within STOP_MS, whatever hangs.
// 5. Wrong usage ends with 2, and says what is right.

import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { JSONRPCMessage, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { type Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { CallGate } from './call-gate.ts';
import { complain } from './complaint.ts';
import { StdioLine } from './stdio-line.ts';
import { addTool, type Tool } from './tool.ts';
import { UsageError } from './tool-error.ts';

const LAST_ANSWERS_MS = 10_000;
const STOP_MS = 5_000;
const CALLS_MS = 2_500;
const LAST_LOOKS = 20;
const LOOK_MS = 25;
/** Arguments of one call, members and elements together: a fence, far beyond what a call needs. */
const MAX_INPUT_ELEMENTS = 200_000;

/** What a tool server offers once it is open. */
export interface ToolService {
  /** What a model should know before it uses any of the tools. */
  readonly instructions: string;
  readonly tools: readonly Tool[];
  /** Calls that may run at a time. */
  readonly concurrency: number;
  readonly capabilities?: ServerCapabilities;
  /** Adds what is no tool: resources, and handlers of their own. */
  offer?(server: McpServer): void;
  rewrite?(message: JSONRPCMessage): JSONRPCMessage;
  /** Lets go of everything the service holds; called once. */
  close(): Promise<void>;
}

export interface ToolProgram {
  readonly title: string;
  /** Its name, arguments and options; parsed here. */
  readonly command: Command;
  /**
   * Opens the service with what the command line says.
   * @throws UsageError when it cannot work that way
   */
  start(command: Command): Promise<ToolService>;
}

/** Runs `program` until its client is gone. The promise resolves once it serves. */
export async function runProgram({ title, command, start }: ToolProgram): Promise<void> {
  command
    .version(manifest.version, '-V, --version')
    .exitOverride()
    // On one line: the last line is what a gateway shows of a server that does not start.
    .configureOutput({
      outputError: (text, write) => write(`${text.trimEnd()} (--help shows what there is)\n`),
    });
  let service: ToolService;
  try {
    command.parse();
    service = await start(command);
  } catch (error) {
    // Commander has said it already.
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
    if (!(error instanceof UsageError)) throw error;
    complain(`${command.name()}: ${error.message}`);
    process.exit(2);
  }

  const server = new McpServer(
    { name: command.name(), title, version: manifest.version },
    {
      instructions: service.instructions,
      capabilities: { tools: {}, ...service.capabilities },
      maxToolInputElements: MAX_INPUT_ELEMENTS,
    },
  );
  const stopping = new AbortController();
  const gate = new CallGate(service.concurrency);
  const line = new StdioLine(service.rewrite?.bind(service));
  const passage = { gate, stopping: stopping.signal, room: () => line.room() };
  for (const tool of service.tools) addTool(server, tool, passage);
  service.offer?.(server);

  let isStopping = false;
  const stop = async (exitCode: number) => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(kill, STOP_MS).unref();
    stopping.abort(new Error('the server ends'));
    await Promise.race([gate.idle(), delay(CALLS_MS)]);
    await Promise.allSettled([service.close(), server.close()]);
    // What is under way at the very end is most often just ending.
    for (let look = 0; look < LAST_LOOKS && isDiskBusy(); look += 1) await delay(LOOK_MS);
    if (isDiskBusy()) kill();
    process.exit(exitCode);
  };

  process.stdin.once('end', () => {
    Promise.race([line.settled(), delay(LAST_ANSWERS_MS)]).then(() => stop(0));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop(0));
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => stop(code === 'EPIPE' ? 0 : 1));
  server.server.onerror = (error) => complain(`${command.name()}: ${error.message}`);
  server.server.onclose = () => stop(1);
  await server.connect(line);
}

/** An operation of the file system that hangs (a network mount) would keep `process.exit` waiting for ever. */
function isDiskBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}

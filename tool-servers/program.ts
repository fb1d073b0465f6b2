// Main program of a tool server: parses the command line, serves MCP on stdio, and exits when its client
// closes the connection.
//
//   starting ── start() ──► serving ── stdin closes, signal, EPIPE ──► stopping ──► exit
//
// 1. stdout contains protocol messages only; diagnostics go to stderr.
// 2. After stdin closes, the server still responds to pending requests, for at most LAST_RESPONSES_MS.
// 3. Running calls are aborted and have CLEANUP_MS for cleanup. The process exits within STOP_MS, even if an
//    operation hangs.
// 4. If the command line or environment is invalid, the process prints the remedy and exits with code 2.

import { setTimeout as delay } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { JSONRPCMessage, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { type Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { CallGate } from './call-gate.ts';
import { logError } from './stderr-log.ts';
import { StdioTransport } from './stdio-transport.ts';
import { addTool, type ServerTool } from './tool.ts';
import { StartupError } from './tool-error.ts';

const LAST_RESPONSES_MS = 10_000;
const STOP_MS = 5_000;
const CLEANUP_MS = 2_500;
const MAX_DISK_CHECKS = 20;
const DISK_CHECK_MS = 25;
/** Safety limit for the members and elements in the arguments, per call. */
const MAX_INPUT_ELEMENTS = 200_000;

/** Tools and handlers that the started program serves. */
export interface ToolService {
  /** Instructions for the model. */
  readonly instructions: string;
  readonly tools: readonly ServerTool[];
  /** Maximum number of concurrent calls. */
  readonly maxOpenCalls: number;
  readonly capabilities?: ServerCapabilities;
  /** Registers resources and other request handlers. */
  register?(server: McpServer): void;
  /** Changes client messages before they are handled, for example argument aliases. */
  rewrite?(message: JSONRPCMessage): JSONRPCMessage;
  /** Releases all resources; called once. */
  close(): Promise<void>;
}

export interface ToolProgram {
  readonly title: string;
  /** Name, arguments and options. */
  readonly command: Command;
  /**
   * Starts the service with the parsed command line.
   * @throws StartupError for unusable options
   */
  start(command: Command): Promise<ToolService>;
}

/** Serves MCP until the client disconnects, then exits the process. Resolves when the server is ready. */
export async function runProgram({ title, command, start }: ToolProgram): Promise<void> {
  command
    .version(manifest.version, '-V, --version')
    .exitOverride()
    // One line, because the gateway shows only the last line if a server does not start.
    .configureOutput({
      outputError: (text, write) => write(`${text.trimEnd()} (see --help)\n`),
    });
  let service: ToolService;
  try {
    command.parse();
    service = await start(command);
  } catch (error) {
    // Commander has already printed the message.
    if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
    if (!(error instanceof StartupError)) throw error;
    logError(`${command.name()}: ${error.message}`);
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
  const gate = new CallGate(service.maxOpenCalls);
  const transport = new StdioTransport(service.rewrite?.bind(service));
  const context = { gate, stopping: stopping.signal, whenWritable: () => transport.whenWritable() };
  for (const tool of service.tools) addTool(server, tool, context);
  service.register?.(server);

  let isStopping = false;
  const stop = async (exitCode: number) => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(kill, STOP_MS).unref();
    stopping.abort(new Error('the server is stopping'));
    await Promise.race([gate.whenIdle(), delay(CLEANUP_MS)]);
    await Promise.allSettled([service.close(), server.close()]);
    // File operations in progress usually finish within a few milliseconds.
    for (let attempt = 0; attempt < MAX_DISK_CHECKS && isDiskBusy(); attempt += 1) await delay(DISK_CHECK_MS);
    if (isDiskBusy()) kill();
    process.exit(exitCode);
  };

  process.stdin.once('end', () => {
    Promise.race([transport.whenAllAnswered(), delay(LAST_RESPONSES_MS)]).then(() => stop(0));
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop(0));
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => stop(code === 'EPIPE' ? 0 : 1));
  server.server.onerror = (error) => logError(`${command.name()}: ${error.message}`);
  server.server.onclose = () => stop(1);
  await server.connect(transport);
}

/**
 * Returns true if a file operation is in progress. A hanging operation (network mount) would block
 * `process.exit`.
 */
function isDiskBusy(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}

// The commands `tools`, `resources` and `prompts`, which use servers like an MCP client: their options, and
// the MCP session in which each command runs. The first Ctrl-C cancels the request; the second exits
// immediately.

import { type Command, Option } from 'commander';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import { version } from '../../version.ts';
import { ApiProblem } from '../api/client.ts';
import { declareTarget } from '../api/target-options.ts';
import { handleSignals } from '../chat/cancellable-run.ts';
import type { CommandModule } from '../command.ts';
import { withProgram } from '../commands/operation.ts';
import { printMessage } from '../views/output.ts';
import { CallDeadline } from './call-deadline.ts';
import type { McpCommand, McpOptions } from './context.ts';
import { Elicitation } from './elicitation.ts';
import { type McpEndpoint, withEndpoint } from './endpoint.ts';
import { unknownServerError } from './list-notes.ts';
import { ProgressLine, printServerMessage } from './progress-line.ts';
import { prompts, resources } from './resource-commands.ts';
import { McpRefusal, McpSession, type SessionListener } from './session.ts';
import { call, tools } from './tool-commands.ts';

interface McpOperation {
  readonly run: McpCommand;
  readonly timeoutSeconds: number;
  readonly examples: readonly string[];
  readonly help?: string;
  declare?(command: Command): void;
}

const LIST_SECONDS = 60;
const CALL_SECONDS = 600;

const declareOutputOption = (command: Command) =>
  command.option('--output <file>', 'save images, audio or binary data of the result, else its text');

const declareServerOption = (command: Command) =>
  command.option('--server <server>', 'only this server (default: all servers, as for clients)');

export const mcpOperations = {
  tools: {
    run: tools,
    timeoutSeconds: LIST_SECONDS,
    examples: ['tools', 'tools --server files', 'tools --catalog ~/.cursor/mcp.json'],
    declare: declareServerOption,
  },
  showTool: {
    run: tools,
    timeoutSeconds: LIST_SECONDS,
    examples: ['tools show files read_text_file'],
  },
  callTool: {
    run: call,
    timeoutSeconds: CALL_SECONDS,
    examples: [
      'tools call files read_text_file path=hello.txt head=3',
      'tools call files read_multiple_files paths=hello.txt paths=notes.txt',
      'tools call shop order item.name=tea item.count:=2',
      `tools call files write_file --input '{"path":"a.txt","content":"…"}'`,
      'tools call everything get-tiny-image --output tiny.png',
    ],
    help: `
Values (name=value) are parsed by the tool's schema. Write an array as JSON or as repeated values, an object as
JSON or by its members (item.name=tea), and an exact value as name:=JSON. Values replace members of --input.

Questions of the server appear on stderr; without a terminal they are declined. Ctrl-C cancels the call. Each
progress message restarts --timeout.
`,
    declare: (command: Command) => {
      command.option(
        '--input <json>',
        'all arguments as one JSON object; @FILE reads it from a file, - from stdin',
      );
      declareOutputOption(command);
    },
  },
  resources: {
    run: resources,
    timeoutSeconds: LIST_SECONDS,
    examples: ['resources', 'resources --server docs'],
    declare: declareServerOption,
  },
  showResource: {
    run: resources,
    timeoutSeconds: LIST_SECONDS,
    examples: ['resources show docs docs://readme --output readme.md'],
    declare: declareOutputOption,
  },
  prompts: {
    run: prompts,
    timeoutSeconds: LIST_SECONDS,
    examples: ['prompts', 'prompts --server docs'],
    declare: declareServerOption,
  },
  showPrompt: {
    run: prompts,
    timeoutSeconds: LIST_SECONDS,
    examples: ['prompts show docs review language=go'],
    declare: declareOutputOption,
  },
} satisfies Readonly<Record<string, McpOperation>>;

const commandOf = (operation: McpOperation): CommandModule => ({
  examples: withProgram(operation.examples),
  declare: (command) => declare(command, operation),
  run: (command) => {
    const { server, json, ...options } = command.opts<McpOptions & { server?: string; json?: boolean }>();
    const args = server === undefined ? command.args : [server];
    return runOperation(operation, { ...options, args, isJson: json === true });
  },
});

export const mcpCommands = Object.fromEntries(
  Object.entries(mcpOperations).map(([name, operation]) => [name, commandOf(operation)]),
) as Readonly<Record<keyof typeof mcpOperations, CommandModule>>;

/** Runs an operation and returns the exit code. Throws CommandLineError and ApiProblem. */
async function runOperation(operation: McpOperation, options: McpOptions): Promise<number> {
  const stop = new AbortController();
  let code: number | undefined;
  const stopWith = (exitCode: number) => () => {
    if (code !== undefined) process.exit(code);
    code = exitCode;
    stop.abort();
  };
  const stopHandling = handleSignals({
    onInterrupt: stopWith(INTERRUPTED),
    onTerminate: stopWith(TERMINATED),
  });
  try {
    return await withEndpoint(options, options.args[0], (endpoint) =>
      runInSession(operation, options, endpoint, { signal: stop.signal, interrupt: stopWith(INTERRUPTED) }),
    );
  } catch (error) {
    if (code === undefined || !(error instanceof ApiProblem)) throw error;
    printMessage('cancelled');
    return code;
  } finally {
    stopHandling();
  }
}

const INTERRUPTED = 130;
const TERMINATED = 143;

interface StopControl {
  readonly signal: AbortSignal;
  interrupt(): void;
}

async function runInSession(
  operation: McpOperation,
  options: McpOptions,
  endpoint: McpEndpoint,
  { signal: stopped, interrupt }: StopControl,
): Promise<number> {
  const timeoutMs = (options.timeout ?? operation.timeoutSeconds) * 1000;
  const deadline = new CallDeadline(timeoutMs);
  const line = new ProgressLine();
  const questions = new Elicitation({ server: endpoint.server ?? 'a server', onInterrupt: interrupt });
  const listener: SessionListener = {
    onMessage: (level, logger, data) => {
      deadline.renew();
      line.printAbove(() => printServerMessage(level, logger, data));
    },
    onQuestion: (question, signal) =>
      deadline.pauseDuring(() =>
        line.hideDuring(() => questions.ask(question, AbortSignal.any([signal, stopped]))),
      ),
  };
  const signal = AbortSignal.any([stopped, deadline.signal]);
  const isScreen = isTerminal(process.stdout, process.env);
  let session: McpSession | undefined;
  try {
    session = await McpSession.open({ ...endpoint, version }, listener, { signal });
    const onProgress = (progress: Parameters<ProgressLine['show']>[0]) => {
      deadline.renew();
      line.show(progress);
    };
    return await operation.run({
      options,
      endpoint,
      session,
      paint: paintFor(process.stdout, process.env),
      width: isScreen ? columnsOf(process.stdout) : undefined,
      timeoutMs: API_MS,
      request: { signal, onProgress, onEnd: () => line.close() },
      json: (value) => JSON.stringify(value, undefined, isScreen ? 2 : undefined),
    });
  } catch (error) {
    if (stopped.aborted) throw asProblem(error);
    throw deadline.signal.aborted ? timeoutProblem(endpoint, timeoutMs) : await explainError(error, endpoint);
  } finally {
    deadline.close();
    line.close();
    await session?.close();
  }
}

const API_MS = 5_000;

/** Converts an error after Ctrl-C to ApiProblem. */
const asProblem = (error: unknown): unknown =>
  error instanceof ApiProblem ? error : new ApiProblem((error as Error).message);

function timeoutProblem({ url }: McpEndpoint, timeoutMs: number): ApiProblem {
  const seconds = timeoutMs / 1000;
  return new ApiProblem(
    `${url.href} has not responded within ${seconds} s; the request was cancelled. --timeout SECONDS waits longer`,
    { isTransient: true },
  );
}

/** JSON-RPC code: the user must first open an address. */
const URL_REQUIRED = -32042;

/** Returns a better error for a refused request, or `error` itself. */
async function explainError(error: unknown, endpoint: McpEndpoint): Promise<unknown> {
  if (!(error instanceof McpRefusal)) return error;
  const { reason } = (error.data ?? {}) as { reason?: unknown };
  if (reason === 'ERR_UNKNOWN_SERVER') return (await unknownServerError(endpoint, API_MS)) ?? error;
  if (error.code !== URL_REQUIRED) return error;
  const { elicitations } = (error.data ?? {}) as { elicitations?: unknown };
  const list = (Array.isArray(elicitations) ? elicitations : []) as { message?: unknown; url?: unknown }[];
  const lines = list.map(({ message, url }) => `${String(message)}: ${String(url)}`);
  return new ApiProblem('open this in a browser if you trust it, and run the command again', {
    details: lines,
  });
}

function declare(command: Command, operation: McpOperation): void {
  operation.declare?.(command);
  command
    .option('--profile <name>', 'only servers and tools of this gateway profile')
    .addOption(
      new Option(
        '--catalog <file>',
        'start the servers of this catalog, instead of using a running gateway',
      ).conflicts(['url', 'config', 'profile']),
    )
    .option('--json', 'print the response of the server as JSON')
    .addHelpText('after', `${operation.help ?? ''}${CATALOG_HELP}`);
  declareTarget(command, operation.timeoutSeconds);
}

const CATALOG_HELP = `
With --catalog the command starts these servers itself, on a temporary gateway in its own process.`;

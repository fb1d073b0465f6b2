// The commands that talk with servers as an MCP client does: which options they take, and what begins and ends each of them.
//
// Ctrl-C cancels the request that is under way, and a second one ends at once.

import { type Command, Option } from 'commander';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import { version } from '../../version.ts';
import { ApiProblem } from '../api/api-client.ts';
import { declareTarget } from '../api/target-options.ts';
import { heedSignals } from '../chat/asked-run.ts';
import type { CommandModule } from '../command.ts';
import { exampleHelp } from '../commands/operation.ts';
import { complain } from '../views/output.ts';
import { CallDeadline } from './call-deadline.ts';
import { unknownServer } from './listed-servers.ts';
import { type Place, withPlace } from './mcp-place.ts';
import { McpRefusal, McpSession, type SessionListener } from './mcp-session.ts';
import { ProgressLine, sayMessage } from './progress-line.ts';
import { prompts, resources } from './resource-commands.ts';
import type { McpCommand, McpOptions } from './situation.ts';
import { TerminalQuestions } from './terminal-questions.ts';
import { call, tools } from './tool-commands.ts';

interface Form {
  readonly run: McpCommand;
  readonly timeoutSeconds: number;
  readonly examples: readonly string[];
  readonly help?: string;
  declare?(command: Command): void;
}

const LIST_SECONDS = 60;
const CALL_SECONDS = 600;

const output = (command: Command) =>
  command.option('--output <file>', 'save the picture, sound or bytes of the result, else its text');

const ofServer = (command: Command) =>
  command.option('--server <server>', 'only of this server (default: all servers, as clients see them)');

export const forms = {
  tools: {
    run: tools,
    timeoutSeconds: LIST_SECONDS,
    examples: ['tools', 'tools --server files', 'tools --catalog ~/.cursor/mcp.json'],
    declare: ofServer,
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
Values are read by the schema of the tool: name=value, where numbers, true and false are what they look like if the tool
takes such. An array is given as JSON, or item by item under the same name; an object as JSON, or by its members
(item.name=tea). name:=JSON says a value exactly. What is given so takes the place of members of --input.

What a server asks meanwhile is asked here, on stderr; without a terminal it is declined. Ctrl-C cancels the call. The
time of --timeout begins anew with each sign of progress.
`,
    declare: (command: Command) => {
      command.option(
        '--input <json>',
        'all arguments as one JSON object; @FILE reads it from a file, - from stdin',
      );
      output(command);
    },
  },
  resources: {
    run: resources,
    timeoutSeconds: LIST_SECONDS,
    examples: ['resources', 'resources --server docs'],
    declare: ofServer,
  },
  showResource: {
    run: resources,
    timeoutSeconds: LIST_SECONDS,
    examples: ['resources show docs docs://readme --output readme.md'],
    declare: output,
  },
  prompts: {
    run: prompts,
    timeoutSeconds: LIST_SECONDS,
    examples: ['prompts', 'prompts --server docs'],
    declare: ofServer,
  },
  showPrompt: {
    run: prompts,
    timeoutSeconds: LIST_SECONDS,
    examples: ['prompts show docs review language=go'],
    declare: output,
  },
} satisfies Readonly<Record<string, Form>>;

const commandOf = (form: Form): CommandModule => ({
  declare: (command) => declare(command, form),
  run: (command) => {
    const { server, json, ...options } = command.opts<McpOptions & { server?: string; json?: boolean }>();
    const args = server === undefined ? command.args : [server];
    return runForm(form, { ...options, args, isJson: json === true });
  },
});

export const mcpCommands = Object.fromEntries(
  Object.entries(forms).map(([name, form]) => [name, commandOf(form)]),
) as Readonly<Record<keyof typeof forms, CommandModule>>;

/** Throws UsageError and ApiProblem. */
async function runForm(form: Form, options: McpOptions): Promise<number> {
  const stop = new AbortController();
  let code: number | undefined;
  const end = (signalled: number) => () => {
    if (code !== undefined) process.exit(code);
    code = signalled;
    stop.abort();
  };
  const heedNoMore = heedSignals(end(INTERRUPTED), end(TERMINATED));
  try {
    return await withPlace(options, options.args[0], (place) =>
      talk(form, options, place, { signal: stop.signal, interrupt: end(INTERRUPTED) }),
    );
  } catch (error) {
    if (code === undefined || !(error instanceof ApiProblem)) throw error;
    complain('cancelled');
    return code;
  } finally {
    heedNoMore();
  }
}

const INTERRUPTED = 130;
const TERMINATED = 143;

interface Ending {
  readonly signal: AbortSignal;
  interrupt(): void;
}

async function talk(
  form: Form,
  options: McpOptions,
  place: Place,
  { signal: stopped, interrupt }: Ending,
): Promise<number> {
  const timeoutMs = (options.timeout ?? form.timeoutSeconds) * 1000;
  const deadline = new CallDeadline(timeoutMs);
  const line = new ProgressLine();
  const questions = new TerminalQuestions({ server: place.server ?? 'a server', onInterrupt: interrupt });
  const listener: SessionListener = {
    onMessage: (level, logger, data) => {
      deadline.renew();
      line.above(() => sayMessage(level, logger, data));
    },
    onQuestion: (question, signal) =>
      deadline.during(() => line.during(() => questions.ask(question, AbortSignal.any([signal, stopped])))),
  };
  const signal = AbortSignal.any([stopped, deadline.signal]);
  const isScreen = isTerminal(process.stdout, process.env);
  let session: McpSession | undefined;
  try {
    session = await McpSession.open({ ...place, version }, listener, { signal });
    const onProgress = (progress: Parameters<ProgressLine['show']>[0]) => {
      deadline.renew();
      line.show(progress);
    };
    return await form.run({
      options,
      place,
      session,
      paint: paintFor(process.stdout, process.env),
      width: isScreen ? columnsOf(process.stdout) : undefined,
      timeoutMs: API_MS,
      request: { signal, onProgress, onEnd: () => line.end() },
      json: (value) => JSON.stringify(value, undefined, isScreen ? 2 : undefined),
    });
  } catch (error) {
    if (stopped.aborted) throw asProblem(error);
    throw deadline.signal.aborted ? tooLate(place, timeoutMs) : await explained(error, place);
  } finally {
    deadline.end();
    line.end();
    await session?.close();
  }
}

const API_MS = 5_000;

/** What ended a request that a signal has ended is no fault of ours. */
const asProblem = (error: unknown): unknown =>
  error instanceof ApiProblem ? error : new ApiProblem((error as Error).message, false);

function tooLate({ url }: Place, timeoutMs: number): ApiProblem {
  const seconds = timeoutMs / 1000;
  return new ApiProblem(
    `${url.href} has not answered within ${seconds} s, and was told to stop; --timeout SECONDS waits longer`,
    true,
  );
}

const URL_REQUIRED = -32042;

/** In better words, where there are any. */
async function explained(error: unknown, place: Place): Promise<unknown> {
  if (!(error instanceof McpRefusal)) return error;
  const { reason } = (error.data ?? {}) as { reason?: unknown };
  if (reason === 'ERR_UNKNOWN_SERVER') return (await unknownServer(place, API_MS)) ?? error;
  if (error.code !== URL_REQUIRED) return error;
  const { elicitations } = (error.data ?? {}) as { elicitations?: unknown };
  const list = (Array.isArray(elicitations) ? elicitations : []) as { message?: unknown; url?: unknown }[];
  const lines = list.map(({ message, url }) => `${String(message)}: ${String(url)}`);
  return new ApiProblem('open this in a browser if you trust it, and call again', false, undefined, lines);
}

function declare(command: Command, form: Form): void {
  form.declare?.(command);
  command
    .option('--profile <name>', 'only what this profile of the gateway offers')
    .addOption(
      new Option(
        '--catalog <file>',
        'run the servers of this catalog here, instead of asking a gateway',
      ).conflicts(['url', 'config', 'profile']),
    )
    .option('--json', 'print what the server answers, as JSON')
    .addHelpText('after', exampleHelp(form.examples, form.help) + OWN_HELP);
  declareTarget(command, form.timeoutSeconds);
}

const OWN_HELP = `
With --catalog a gateway of its own runs those servers for as long as the command does, in this process.`;

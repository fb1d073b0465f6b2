// The commands that talk with servers as an MCP client does: which options they take, and what begins and ends each of them.
//
// Ctrl-C cancels the request that is under way, and a second one ends at once.

import type { Command } from 'commander';
import { columnsOf, isTerminal, paintFor } from '../../terminal/paint.ts';
import { ApiProblem } from '../api/api-client.ts';
import { declareTarget, refuseBareKey, targetHelp } from '../api/target-options.ts';
import { heedSignals } from '../chat/asked-run.ts';
import { parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';
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
  readonly args: readonly (readonly [syntax: string, meaning: string])[];
  readonly examples: readonly string[];
  readonly help: string;
  declare(command: Command): void;
}

const SERVER = 'id of a server, as the catalog has it';
const LIST_SECONDS = 60;
const CALL_SECONDS = 600;

const output = (command: Command) =>
  command.option('--output <file>', 'save the picture, sound or bytes of the result, else its text');

export const forms = {
  tools: {
    run: tools,
    timeoutSeconds: LIST_SECONDS,
    args: [
      ['[server]', `${SERVER}; without it those of all, as clients see them`],
      ['[tool]', 'explain this one: its arguments, and an example of a call'],
    ],
    examples: ['tools', 'tools files', 'tools files read_text_file', 'tools --catalog ~/.cursor/mcp.json'],
    help: '',
    declare: () => {},
  },
  call: {
    run: call,
    timeoutSeconds: CALL_SECONDS,
    args: [
      ['<server>', SERVER],
      ['[tool]', 'name of a tool, as "tools SERVER" lists it'],
      ['[name=value...]', 'its arguments'],
    ],
    examples: [
      'call files read_text_file path=hello.txt head=3',
      'call files read_multiple_files paths=hello.txt paths=notes.txt',
      'call shop order item.name=tea item.count:=2',
      `call files write_file --input '{"path":"a.txt","content":"…"}'`,
      'call everything get-tiny-image --output tiny.png',
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
    args: [
      ['[server]', SERVER],
      ['[uri]', 'read this one'],
    ],
    examples: ['resources', 'resources docs', 'resources docs docs://readme --output readme.md'],
    help: '',
    declare: output,
  },
  prompts: {
    run: prompts,
    timeoutSeconds: LIST_SECONDS,
    args: [
      ['[server]', SERVER],
      ['[prompt]', 'give this one'],
      ['[name=value...]', 'its arguments'],
    ],
    examples: ['prompts', 'prompts docs', 'prompts docs review language=go'],
    help: '',
    declare: output,
  },
} satisfies Readonly<Record<string, Form>>;

export type McpCommandName = keyof typeof forms;

/** Runs one of them, and gives the exit code. Throws UsageError and ApiProblem. */
export async function runMcpCommand(
  name: McpCommandName,
  args: readonly string[],
  version: string,
): Promise<number> {
  const form: Form = forms[name];
  const parsed = parse(name, form, args, version);
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
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
      talk(form, options, place, version, { signal: stop.signal, interrupt: end(INTERRUPTED) }),
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
  version: string,
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

function parse(name: McpCommandName, form: Form, args: readonly string[], version: string) {
  return parseProgram<McpOptions>(
    {
      name: `actor-gateway ${name}`,
      description: sentenceOf(name),
      version,
      after: [
        '',
        'Examples:',
        ...form.examples.map((example) => `  actor-gateway ${example}`),
        form.help.trimEnd(),
        OWN_HELP + targetHelp,
      ].join('\n'),
      declare: (command) => {
        for (const [syntax, meaning] of form.args) command.argument(syntax, meaning);
        form.declare(command);
        command
          .option('--profile <name>', 'only what this profile of the gateway offers')
          .option('--catalog <file>', 'run the servers of this catalog here, instead of asking a gateway');
        declareTarget(command, form.timeoutSeconds);
        command.option('--json', 'print what the server answers, as JSON');
      },
      read: (command) => {
        refuseBareKey(command);
        const { json, ...own } = command.opts<Omit<McpOptions, 'args' | 'isJson'> & { json?: boolean }>();
        return { ...own, args: command.args, isJson: json === true };
      },
    },
    args,
  );
}

const OWN_HELP = `
With --catalog a gateway of its own runs those servers for as long as the command does, in this process.
`;

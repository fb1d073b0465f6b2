// `logs`: prints the output of servers, and the gateway's log lines about servers, with server name and
// level. With -f, new lines follow until the user interrupts.

import { InvalidArgumentError, Option } from 'commander';
import { levelByName, lineLevels } from '../../../actors/mcp/servers/lines/level.ts';
import type { logRecord } from '../../http/api/log-stream.ts';
import { type Paint, paintFor, type Style } from '../../terminal/paint.ts';
import { printable, printableLine } from '../../terminal/terminal-text.ts';
import { ApiClient, ApiProblem, type GatewayResponse } from '../api/client.ts';
import { CommandLineError, declareTarget, readTarget, type TargetOptions } from '../api/target-options.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import type { CommandModule } from '../command.ts';
import { print, printJson, printMessage } from '../views/output.ts';

const TIMEOUT_SECONDS = 10;

type Line = ReturnType<typeof logRecord>;

interface Options extends TargetOptions {
  readonly server?: string;
  readonly follow?: boolean;
  readonly level?: string;
  readonly since?: string;
  readonly lines?: string;
  readonly timestamps?: boolean;
  readonly json?: boolean;
}

export const logs: CommandModule = {
  declare: (command) => {
    command
      .option('--server <server>', 'only lines of this server')
  examples: [
    'actor-gateway logs -f',
    'actor-gateway logs --server files --since 10m --lines 1000',
    'actor-gateway logs --level warn',
  ],
      .option('-f, --follow', 'follow new lines')
      .addOption(
        new Option('--level <level>', 'this level and above').choices(lineLevels).argParser(parseLevel),
      )
      .option('--since <time>', 'only lines since: a time, or a duration such as 10m, 12h')
      .option('-n, --lines <count>', 'maximum number of lines (default: 100)')
      .option('-t, --timestamps', 'print the time before each line')
      .option('--json', 'print one JSON object per line: at, server, level, from, text');
    declareTarget(command, TIMEOUT_SECONDS);
  },
  run: (command) => printLogs(command.opts<Options>()),
};

/** Prints the lines. Rejects with an ApiProblem, or with CommandLineError for invalid options. */
async function printLogs(options: Options): Promise<number> {
  const client = new ApiClient(await readTarget(options, process.env));
  const timeoutMs = (options.timeout ?? TIMEOUT_SECONDS) * 1000;
  try {
    return options.follow === true
      ? await follow(client, options, timeoutMs)
      : await showOnce(client, options, timeoutMs);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.response?.status === 400) throw new CommandLineError(printable(error.message));
    if (error.response?.status === 404 && options.server !== undefined)
      throw await explainUnknownServer(error, { client, args: [options.server], timeoutMs });
    throw error;
  }
}

async function showOnce(client: ApiClient, options: Options, timeoutMs: number): Promise<number> {
  const { body }: GatewayResponse = await client.request('GET', pathOf(options), timeoutMs);
  const { lines } = body as { readonly lines: readonly Line[] };
  const printLine = linePrinter(options, Math.max(0, ...lines.map(({ server }) => server.length)));
  if (lines.length === 0 && options.json !== true) printMessage(`no lines: ${emptyResultText(options)}`);
  for (const line of lines) if (!(await printLine(line))) break;
  return 0;
}

async function follow(client: ApiClient, options: Options, timeoutMs: number): Promise<number> {
  const closed = new AbortController();
  const printLine = linePrinter(options);
  let reason = 'the gateway no longer responds';
  // Printing is asynchronous; the chain keeps the order of the events.
  let printed: Promise<unknown> = Promise.resolve();
  const onEvent = (name: string, data: unknown) => {
    if (name === 'end') ({ reason } = data as { readonly reason: string });
    if (name !== 'line') return;
    printed = printed.then(async () => {
      // The reader of stdout, such as `head`, has closed the pipe.
      if (!(await printLine(data as Line))) closed.abort();
    });
  };
  try {
    await client.follow('GET', pathOf(options), timeoutMs, { signal: closed.signal }, onEvent);
  } catch (error) {
    if (!closed.signal.aborted) throw error;
  }
  await printed;
  if (closed.signal.aborted) return 0;
  printMessage(`logs: the stream has ended: ${printable(reason)}`);
  return 1;
}

/** Returns the message for empty results, which names the filters. */
function emptyResultText({ server, level, since }: Options): string {
  const subject = server === undefined ? 'no server has' : `${server} has not`;
  const predicate = level === undefined ? 'printed anything' : `printed anything of level ${level} or above`;
  return `${subject} ${predicate}${since === undefined ? ' since the gateway started' : ' in that time'}`;
}

/**
 * Returns a function that prints a line. The column of server names has `leastWidth` characters, or more
 * after a longer name.
 */
function linePrinter(
  { json, timestamps = false }: Options,
  leastWidth = 0,
): (line: Line) => Promise<boolean> {
  if (json === true) return (line) => printJson(JSON.stringify(line));
  const paint = paintFor(process.stdout, process.env);
  let width = leastWidth;
  return (line) => {
    width = Math.max(width, line.server.length);
    return print(`${timestamps ? `${line.at} ` : ''}${formatLine(line, width, paint)}\n`);
  };
}

/** Width of the longest level. */
const LEVEL_CHARS = 5;
const styleOf: Readonly<Record<Line['level'], Style>> = {
  debug: 'faint',
  info: 'faint',
  warn: 'busy',
  error: 'bad',
};

/** Formats a line; lines of the gateway itself have a prefix. */
function formatLine({ server, level, from, text }: Line, width: number, paint: Paint): string {
  const rest = `${from === 'gateway' ? 'gateway: ' : ''}${printableLine(text)}`;
  const gap = ' '.repeat(LEVEL_CHARS - level.length);
  return `${paint('strong', printable(server).padEnd(width))} | ${paint(styleOf[level], level)}${gap} ${rest}`;
}

function pathOf({ server, level, since, lines }: Options): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ server, level, since, lines }))
    if (value !== undefined) query.set(name, value);
  return query.size === 0 ? 'logs' : `logs?${query}`;
}

function parseLevel(word: string): string {
  const level = levelByName(word);
  if (level !== undefined) return level;
  throw new InvalidArgumentError(`Expected one of ${lineLevels.join(', ')}.`);
}

// `logs`: prints the output of servers and the log lines of the gateway, with their source and level. With
// -f, new lines follow until the user interrupts.

import { InvalidArgumentError, Option } from 'commander';
import { levelByName, lineLevels } from '../../../actors/mcp/servers/lines/level.ts';
import { lineKinds } from '../../../actors/mcp/servers/lines/recent.ts';
import type { LogRecord } from '../../http/api/log-shapes.ts';
import { type Paint, paintFor, type Style } from '../../terminal/paint.ts';
import { printable, printableLine } from '../../terminal/terminal-text.ts';
import { ApiClient, ApiProblem, type GatewayResponse } from '../api/client.ts';
import { CommandLineError, declareTarget, readTarget, type TargetOptions } from '../api/target-options.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import type { CommandModule } from '../command.ts';
import { localTime } from '../views/local-time.ts';
import { print, printJson, printMessage } from '../views/output.ts';

const TIMEOUT_SECONDS = 10;

interface Options extends TargetOptions {
  readonly server?: string;
  readonly trigger?: string;
  readonly agent?: string;
  readonly kind?: string;
  readonly follow?: boolean;
  readonly level?: string;
  readonly since?: string;
  readonly lines?: string;
  readonly timestamps?: boolean;
  readonly json?: boolean;
}

export const logs: CommandModule = {
  examples: [
    'actor-gateway logs -f',
    'actor-gateway logs --server files --since 10m --lines 1000',
    'actor-gateway logs --trigger orders --level warn',
  ],
  declare: (command) => {
    command
      .option('--server <server>', 'only lines of this server')
      .option('--trigger <trigger>', 'only lines of this trigger')
      .option('--agent <agent>', 'only lines of this agent')
      .addOption(new Option('--kind <kind>', 'only lines of this kind of source').choices(lineKinds))
      .option('-f, --follow', 'follow new lines')
      .addOption(
        new Option('--level <level>', 'this level and above').choices(lineLevels).argParser(parseLevel),
      )
      .option('--since <time>', 'only lines since: a time, or a duration such as 10m, 12h')
      .option('-n, --lines <count>', 'maximum number of lines (default: 100)')
      .option('-t, --timestamps', 'print the time before each line')
      .option('--json', 'print one JSON object per line: at, kind, name, server, level, from, text');
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
  const { lines } = body as { readonly lines: readonly LogRecord[] };
  const printLine = linePrinter(options, Math.max(0, ...lines.map((line) => sourceText(line).length)));
  if (lines.length === 0 && options.json !== true) printMessage(emptyResultText(options));
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
      if (!(await printLine(data as LogRecord))) closed.abort();
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
function emptyResultText({ server, trigger, agent, kind, level, since }: Options): string {
  const subject = server ?? trigger ?? agent ?? (kind === undefined ? 'any source' : `the kind ${kind}`);
  const levelText = level === undefined ? '' : ` with level ${level} or above`;
  return `no lines of ${subject}${levelText}${since === undefined ? ' since the gateway started' : ' in that time'}`;
}

/** Formats a source: `files` for a server, `trigger/orders`, `gateway`. */
const sourceText = ({ kind, name }: Pick<LogRecord, 'kind' | 'name'>): string =>
  kind === 'server' ? (name ?? '') : [kind, ...(name === null ? [] : [name])].join('/');

/**
 * Returns a function that prints a line. The column of sources has `leastWidth` characters, or more
 * after a longer name.
 */
function linePrinter(
  { json, timestamps = false }: Options,
  leastWidth = 0,
): (line: LogRecord) => Promise<boolean> {
  if (json === true) return (line) => printJson(JSON.stringify(line));
  const paint = paintFor(process.stdout, process.env);
  let width = leastWidth;
  return (line) => {
    width = Math.max(width, sourceText(line).length);
    return print(`${timestamps ? `${localTime(line.at)} ` : ''}${formatLine(line, width, paint)}\n`);
  };
}

/** Width of the longest level. */
const LEVEL_CHARS = 5;
const styleOf: Readonly<Record<LogRecord['level'], Style>> = {
  debug: 'faint',
  info: 'faint',
  warn: 'busy',
  error: 'bad',
};

/** Formats a line; lines of the gateway itself have a prefix. */
function formatLine({ kind, name, level, from, text }: LogRecord, width: number, paint: Paint): string {
  const rest = `${from === 'gateway' && kind === 'server' ? 'gateway: ' : ''}${printableLine(text)}`;
  const gap = ' '.repeat(LEVEL_CHARS - level.length);
  return `${paint('strong', printable(sourceText({ kind, name })).padEnd(width))} | ${paint(styleOf[level], level)}${gap} ${rest}`;
}

function pathOf({ server, trigger, agent, kind, level, since, lines }: Options): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ server, trigger, agent, kind, level, since, lines }))
    if (value !== undefined) query.set(name, value);
  return query.size === 0 ? 'logs' : `logs?${query}`;
}

function parseLevel(word: string): string {
  const level = levelByName(word);
  if (level !== undefined) return level;
  throw new InvalidArgumentError(`Expected one of ${lineLevels.join(', ')}.`);
}

// `logs`: what the servers of a running gateway said and what it logged about them, with the name of each and the level in front; with
// -f it goes on until somebody ends it.

import { InvalidArgumentError, Option } from 'commander';
import { levelNamed, lineLevels } from '../../../actors/mcp/servers/lines/line-level.ts';
import type { logRecord } from '../../http/api/log-stream.ts';
import { type Paint, paintFor, type Style } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiClient, ApiProblem, type ApiResponse } from '../api/api-client.ts';
import { declareTarget, readTarget, type TargetOptions, UsageError } from '../api/target-options.ts';
import { explainUnknownServer } from '../api/unknown-server.ts';
import type { CommandModule } from '../command.ts';
import { complain, print, printJson } from '../views/output.ts';
import { exampleHelp } from './operation.ts';

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
      .option('--server <server>', 'only of this server')
      .option('-f, --follow', 'follow new lines')
      .addOption(
        new Option('--level <level>', 'this level and above').choices(lineLevels).argParser(readLevel),
      )
      .option('--since <time>', 'only what came since: a time, or a while ago such as 10m, 12h')
      .option('-n, --lines <count>', 'at most this many of the last lines (default: 100)')
      .option('-t, --timestamps', 'the time in front of each line')
      .option('--json', 'one JSON object on each line: at, server, level, from, text')
      .addHelpText('after', exampleHelp(examples));
    declareTarget(command, TIMEOUT_SECONDS);
  },
  run: (command) => shown(command.opts<Options>()),
};

const examples = ['logs -f', 'logs --server files --since 10m --lines 1000', 'logs --level warn'];

/** Rejects with an ApiProblem, or with UsageError for a value that the gateway refuses. */
async function shown(options: Options): Promise<number> {
  const client = new ApiClient(await readTarget(options, process.env));
  const timeoutMs = (options.timeout ?? TIMEOUT_SECONDS) * 1000;
  try {
    return options.follow === true
      ? await follow(client, options, timeoutMs)
      : await showOnce(client, options, timeoutMs);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.answer?.status === 400) throw new UsageError(printable(error.message));
    if (error.answer?.status === 404 && options.server !== undefined)
      throw await explainUnknownServer(error, { client, args: [options.server], timeoutMs });
    throw error;
  }
}

async function showOnce(client: ApiClient, options: Options, timeoutMs: number): Promise<number> {
  const { body }: ApiResponse = await client.ask('GET', pathOf(options), timeoutMs);
  const { lines } = body as { readonly lines: readonly Line[] };
  const show = shownBy(options, Math.max(0, ...lines.map(({ server }) => server.length)));
  if (lines.length === 0 && options.json !== true) complain(`nothing: ${nothingOf(options)}`);
  for (const line of lines) if (!(await show(line))) break;
  return 0;
}

async function follow(client: ApiClient, options: Options, timeoutMs: number): Promise<number> {
  const left = new AbortController();
  const show = shownBy(options);
  let reason = 'the gateway does not answer any more';
  // One after the other, as they came.
  let shown: Promise<unknown> = Promise.resolve();
  const onEvent = (name: string, data: unknown) => {
    if (name === 'end') ({ reason } = data as { readonly reason: string });
    if (name !== 'line') return;
    shown = shown.then(async () => {
      // As when `head` has seen enough.
      if (!(await show(data as Line))) left.abort();
    });
  };
  try {
    await client.follow('GET', pathOf(options), timeoutMs, { signal: left.signal }, onEvent);
  } catch (error) {
    if (!left.signal.aborted) throw error;
  }
  await shown;
  if (left.signal.aborted) return 0;
  complain(`logs: no more lines come: ${printable(reason)}`);
  return 1;
}

/** What was asked for more narrowly than all. */
function nothingOf({ server, level, since }: Options): string {
  const who = server === undefined ? 'no server has' : `${server} has not`;
  const what = level === undefined ? 'said anything' : `said anything of level ${level} or graver`;
  return `${who} ${what}${since === undefined ? ' since the gateway started' : ' in that time'}`;
}

/** Names are as wide as the widest so far, and at least so wide. */
function shownBy({ json, timestamps = false }: Options, leastWidth = 0): (line: Line) => Promise<boolean> {
  if (json === true) return (line) => printJson(JSON.stringify(line));
  const paint = paintFor(process.stdout, process.env);
  let width = leastWidth;
  return (line) => {
    width = Math.max(width, line.server.length);
    return print(`${timestamps ? `${line.at} ` : ''}${shownLine(line, width, paint)}\n`);
  };
}

/** As wide as the longest of them. */
const LEVEL_CHARS = 5;
const styleOf: Readonly<Record<Line['level'], Style>> = {
  debug: 'faint',
  info: 'faint',
  warn: 'busy',
  error: 'bad',
};

/** The gateway's own are told from what the server says. */
function shownLine({ server, level, from, text }: Line, width: number, paint: Paint): string {
  const rest = `${from === 'gateway' ? 'gateway: ' : ''}${printable(text)}`;
  const gap = ' '.repeat(LEVEL_CHARS - level.length);
  return `${paint('strong', printable(server).padEnd(width))} | ${paint(styleOf[level], level)}${gap} ${rest}`;
}

function pathOf({ server, level, since, lines }: Options): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ server, level, since, lines }))
    if (value !== undefined) query.set(name, value);
  return query.size === 0 ? 'logs' : `logs?${query}`;
}

function readLevel(word: string): string {
  const level = levelNamed(word);
  if (level !== undefined) return level;
  throw new InvalidArgumentError(`There are ${lineLevels.join(', ')}.`);
}

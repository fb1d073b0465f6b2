// Reads `.env` next to a configuration file: variables for `${NAME}` in that file, in addition to the
// environment.
// The format is Node's dotenv format. Lines that Node would skip or misread are errors with a position.
//
// The environment takes precedence, even with an empty value. Messages do not contain text of the file, since
// it contains secrets (invariant A9, ARCHITECTURE.md).

import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Problem } from './problem.ts';
import { readSourceFile, SourceFile } from './source-file.ts';
import type { Environment } from './substitute.ts';

const MAX_CHARACTERS = 262_144;

/** Mode bit: readable by every user. */
const READABLE_BY_OTHERS = 0o004;

export interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

export interface FullEnvironment {
  /** The environment, completed with variables from the file. */
  readonly environment: Environment;
  /** Variables from the file that the environment does not set. */
  readonly fromFile: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

/** Returns the path of `.env` next to a gateway file, or next to a catalog that is used alone. */
export function envFileBeside(file: string): string {
  return join(dirname(file), '.env');
}

/** Returns the environment for a configuration file. Without `.env`, the environment is `env`. */
export async function environmentBeside(file: string, env: Environment): Promise<FullEnvironment> {
  const { values, problems } = await readEnvFile(envFileBeside(file));
  const fromFile = Object.fromEntries(Object.entries(values).filter(([name]) => env[name] === undefined));
  return { environment: { ...env, ...fromFile }, fromFile, problems };
}

/** Reads a variables file; a missing file has no values. Never rejects. */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined && !(await isPresent(path))) return { values: {}, problems: [] };
  const problemOf = (message: string, severity: Problem['severity']) =>
    new SourceFile(path, '').problem(0, message, severity);
  // Some tools store virtual environments in a folder of that name.
  if (found?.isDirectory() === true)
    return { values: {}, problems: [problemOf('this is a folder; ignored', 'warning')] };
  const source = await readSourceFile(path);
  if (!(source instanceof SourceFile)) return { values: {}, problems: [problemOf(source.reason, 'error')] };
  if (source.text.length > MAX_CHARACTERS)
    return { values: {}, problems: [problemOf('the file is larger than 256 KiB', 'error')] };
  const { values, problems } = parseEnvText(source);
  const isReadableByOthers = process.platform !== 'win32' && ((found?.mode ?? 0) & READABLE_BY_OTHERS) !== 0;
  if (!isReadableByOthers || Object.values(values).every((value) => value === ''))
    return { values, problems };
  const warning = 'the file is readable by every user; restrict it: chmod 600';
  return { values, problems: [problemOf(warning, 'warning'), ...problems] };
}

/** Returns true also for circular links and files in unreadable folders, so that they are reported. */
async function isPresent(path: string): Promise<boolean> {
  const found = await readSourceFile(path);
  return found instanceof SourceFile || found.reason !== 'the file does not exist';
}

const blankLine = /[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)/y;
const assignment =
  /[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:('[^']*'|"[^"]*"|`[^`]*`)[ \t]*(?:#[^\r\n]*)?|(?![ \t"'`])([^\r\n]*))(?:\r?\n|$)/y;
const quotedStart = /[ \t]*(?:export[ \t]+)?[A-Za-z_][\w.-]*[ \t]*=[ \t]*(["'`])/y;

/** Parses the text. Invalid lines do not affect valid lines. */
export function parseEnvText(source: SourceFile): EnvFile {
  const { text } = source;
  const values: Record<string, string> = {};
  const problems: Problem[] = [];
  for (let offset = 0; offset < text.length; ) {
    const blank = matchAt(blankLine, text, offset);
    if (blank !== null) {
      offset += blank[0].length;
      continue;
    }
    const found = matchAt(assignment, text, offset);
    if (found !== null) {
      const [whole, name = '', quoted, plain = ''] = found;
      // Parse assignments separately, so that Node cannot merge lines.
      values[name] = parseEnv(`VALUE=${quoted ?? plain.trim()}`).VALUE ?? '';
      offset += whole.length;
      continue;
    }
    const indent = /^[ \t]*/.exec(text.slice(offset))?.[0].length ?? 0;
    problems.push(source.problem(offset + indent, faultAt(text, offset)));
    const lineEnd = text.indexOf('\n', offset);
    offset = lineEnd === -1 ? text.length : lineEnd + 1;
  }
  return { values, problems };
}

function faultAt(text: string, offset: number): string {
  const [whole = '', quote = ''] = matchAt(quotedStart, text, offset) ?? [];
  if (quote === '') return 'expected NAME=value, or a comment after #';
  if (!text.slice(offset + whole.length).includes(quote)) return 'the closing quote is missing';
  return 'only a comment may follow the closing quote; enclose a value with quotes in the other kind of quotes';
}

function matchAt(pattern: RegExp, text: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(text);
}

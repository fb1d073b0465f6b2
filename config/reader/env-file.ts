// `.env` beside a configuration file: variables for its references that the environment does not have. The format is dotenv's, as
// Node reads it; what Node would pass over, or read as something that nobody means, is an error here with its position.
//
// A variable of the environment is stronger than one of the file, also when it is empty. Problems never repeat the text of
// the file, which is there for secrets (A9).

import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Problem } from './problem.ts';
import { readSourceFile, SourceFile } from './source-file.ts';
import type { Environment } from './substitute.ts';

const MAX_CHARACTERS = 262_144;

/** Everybody on the machine may read it. */
const READABLE_BY_OTHERS = 0o004;

export interface EnvFile {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

export interface FullEnvironment {
  /** What the environment has, and what the file has besides. */
  readonly environment: Environment;
  /** What comes from the file alone. */
  readonly fromFile: Readonly<Record<string, string>>;
  readonly problems: readonly Problem[];
}

/** Where the variables of a gateway file are, or of a catalog that is used without one. */
export function envFileBeside(file: string): string {
  return join(dirname(file), '.env');
}

/** The variables of a configuration whose file is `file`. Without a `.env` it is `env` alone. */
export async function environmentBeside(file: string, env: Environment): Promise<FullEnvironment> {
  const { values, problems } = await readEnvFile(envFileBeside(file));
  const fromFile = Object.fromEntries(Object.entries(values).filter(([name]) => env[name] === undefined));
  return { environment: { ...env, ...fromFile }, fromFile, problems };
}

/** Reads one such file; one that is not there has no values. Never rejects. */
export async function readEnvFile(path: string): Promise<EnvFile> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined && !(await isThere(path))) return { values: {}, problems: [] };
  const problemOf = (message: string, severity: Problem['severity']) =>
    new SourceFile(path, '').problem(0, message, severity);
  // Some tools keep whole environments in a folder of that name.
  if (found?.isDirectory() === true)
    return { values: {}, problems: [problemOf('this is a folder; it is not read', 'warning')] };
  const source = await readSourceFile(path);
  if (!(source instanceof SourceFile)) return { values: {}, problems: [problemOf(source.reason, 'error')] };
  if (source.text.length > MAX_CHARACTERS)
    return { values: {}, problems: [problemOf('the file is larger than 256 KiB', 'error')] };
  const { values, problems } = parseEnvText(source);
  const isOpen = process.platform !== 'win32' && ((found?.mode ?? 0) & READABLE_BY_OTHERS) !== 0;
  if (!isOpen || Object.values(values).every((value) => value === '')) return { values, problems };
  const warning = 'every user of this machine can read the values; take that away: chmod 600';
  return { values, problems: [problemOf(warning, 'warning'), ...problems] };
}

/** A link that leads nowhere, or a folder that may not be looked into, is something that somebody has meant. */
async function isThere(path: string): Promise<boolean> {
  const found = await readSourceFile(path);
  return found instanceof SourceFile || found.reason !== 'the file does not exist';
}

const nothing = /[ \t]*(?:#[^\r\n]*)?(?:\r?\n|$)/y;
const assignment =
  /[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(?:('[^']*'|"[^"]*"|`[^`]*`)[ \t]*(?:#[^\r\n]*)?|(?![ \t"'`])([^\r\n]*))(?:\r?\n|$)/y;
const quotedBeginning = /[ \t]*(?:export[ \t]+)?[A-Za-z_][\w.-]*[ \t]*=[ \t]*(["'`])/y;

/** What the text says, and what is wrong with it; good lines count also beside bad ones. */
export function parseEnvText(source: SourceFile): EnvFile {
  const { text } = source;
  const values: Record<string, string> = {};
  const problems: Problem[] = [];
  for (let at = 0; at < text.length; ) {
    const blank = matchAt(nothing, text, at);
    if (blank !== null) {
      at += blank[0].length;
      continue;
    }
    const found = matchAt(assignment, text, at);
    if (found !== null) {
      const [whole, name = '', quoted, plain = ''] = found;
      // Node takes the text apart; one assignment at a time, so that no line takes part of another for its name.
      values[name] = parseEnv(`VALUE=${quoted ?? plain.trim()}`).VALUE ?? '';
      at += whole.length;
      continue;
    }
    const begun = /^[ \t]*/.exec(text.slice(at))?.[0].length ?? 0;
    problems.push(source.problem(at + begun, faultAt(text, at)));
    const lineEnd = text.indexOf('\n', at);
    at = lineEnd === -1 ? text.length : lineEnd + 1;
  }
  return { values, problems };
}

function faultAt(text: string, at: number): string {
  const [whole = '', quote = ''] = matchAt(quotedBeginning, text, at) ?? [];
  if (quote === '') return 'expected NAME=value, or a comment after #';
  if (!text.slice(at + whole.length).includes(quote)) return 'the quotes of this value have no end';
  return 'only a comment may follow the closing quote; a value with quotes in it stands in the other kind of quotes';
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

// What the command line of the browser server may say, read once and given to its parts. Every limit has a default that
// suits ordinary pages, and a unit in its name.

import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { isProgram } from './chromium/find-browser.ts';

export interface BrowserOptions {
  /** The browser to start; undefined: look for one. */
  readonly browserPath: string | undefined;
  readonly isHeadless: boolean;
  readonly isSandboxed: boolean;
  /** Whether pages may reach private, loopback and link-local addresses. */
  readonly isPrivateAllowed: boolean;
  /** How long one tool call may take. */
  readonly stepMs: number;
  /** Memory of all processes of the browser together. */
  readonly maxMemoryMb: number;
  /** Of one processor core, on average over `maxCpuSeconds`; 0: not watched. */
  readonly maxCpuPercent: number;
  readonly maxCpuSeconds: number;
}

/** The program's name and options. */
export function browserCommand(): Command {
  return new Command('browser')
    .description('MCP server on stdio: a headless Chromium or Chrome for one client.')
    .option('--browser-path <file>', 'the Chromium or Chrome to start (default: found on PATH)', existing)
    .option('--headed', 'show the browser window', false)
    .option('--allow-private', 'let pages reach private, loopback and link-local addresses', false)
    .option('--no-sandbox', 'run the browser without its sandbox; only for pages you trust')
    .option('--timeout-seconds <seconds>', 'how long one tool call may take', between(1, 600), 30)
    .option('--max-memory-mb <megabytes>', 'memory of the browser', between(256, 1_048_576), 2048)
    .option('--max-cpu-percent <percent>', 'of one core, on average; 0 turns it off', between(0, 100_000), 90)
    .option('--max-cpu-seconds <seconds>', 'the time that average is taken over', between(1, 3600), 60);
}

/** What the parsed command line says. */
export function optionsOf(command: Command): BrowserOptions {
  const given = command.opts<{
    browserPath?: string;
    headed: boolean;
    allowPrivate: boolean;
    sandbox: boolean;
    timeoutSeconds: number;
    maxMemoryMb: number;
    maxCpuPercent: number;
    maxCpuSeconds: number;
  }>();
  return {
    browserPath: given.browserPath,
    isHeadless: !given.headed,
    isSandboxed: given.sandbox,
    isPrivateAllowed: given.allowPrivate,
    stepMs: given.timeoutSeconds * 1000,
    maxMemoryMb: given.maxMemoryMb,
    maxCpuPercent: given.maxCpuPercent,
    maxCpuSeconds: given.maxCpuSeconds,
  };
}

function between(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
    return value;
  };
}

function existing(file: string): string {
  const path = resolve(file);
  if (!isProgram(path)) throw new InvalidArgumentError('There is no such program.');
  return path;
}

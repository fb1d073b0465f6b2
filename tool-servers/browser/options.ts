// Command-line options of the browser server. The default limits are suitable for ordinary pages.

import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { isProgram } from './chromium/find-browser.ts';

export interface BrowserOptions {
  /** Browser executable; undefined = search the usual places. */
  readonly browserPath: string | undefined;
  readonly isHeadless: boolean;
  readonly isSandboxed: boolean;
  /** True if pages may access private, loopback and link-local addresses. */
  readonly isPrivateAllowed: boolean;
  /** Time limit per tool call. */
  readonly callTimeoutMs: number;
  /** Memory limit for all browser processes together. */
  readonly maxMemoryMb: number;
  /** Limit for the average processor use, in percent of one core; 0 = unlimited. */
  readonly maxCpuPercent: number;
  /** Period of the average. */
  readonly maxCpuSeconds: number;
}

export function browserCommand(): Command {
  return new Command('browser')
    .description('MCP server on stdio: a headless Chromium or Chrome for one client.')
    .option('--browser-path <file>', 'the Chromium or Chrome to start (default: found on PATH)', programPath)
    .option('--headed', 'show the browser window', false)
    .option('--allow-private', 'allow private, loopback and link-local addresses', false)
    .option('--no-sandbox', 'run the browser without its sandbox; for trusted pages only')
    .option('--timeout-seconds <seconds>', 'time limit of a tool call', integerBetween(1, 600), 30)
    .option(
      '--max-memory-mb <megabytes>',
      'memory limit of the browser',
      integerBetween(256, 1_048_576),
      2048,
    )
    .option(
      '--max-cpu-percent <percent>',
      'limit for the average processor use, in percent of one core; 0 = unlimited',
      integerBetween(0, 100_000),
      90,
    )
    .option(
      '--max-cpu-seconds <seconds>',
      'period of the average for --max-cpu-percent',
      integerBetween(1, 3600),
      60,
    );
}

/** Returns the options of the parsed command line. */
export function optionsOf(command: Command): BrowserOptions {
  const values = command.opts<{
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
    browserPath: values.browserPath,
    isHeadless: !values.headed,
    isSandboxed: values.sandbox,
    isPrivateAllowed: values.allowPrivate,
    callTimeoutMs: values.timeoutSeconds * 1000,
    maxMemoryMb: values.maxMemoryMb,
    maxCpuPercent: values.maxCpuPercent,
    maxCpuSeconds: values.maxCpuSeconds,
  };
}

function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };
}

function programPath(file: string): string {
  const path = resolve(file);
  if (!isProgram(path)) throw new InvalidArgumentError('Not an executable file.');
  return path;
}

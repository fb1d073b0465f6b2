// Stops a server's container through the engine. The container is no process of the gateway: it survives
// the engine's client (`docker run`), which is the gateway's child. It has a label with a random token, and a
// name with the token unless its command line sets a name.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';

const LABEL = 'actor-gateway.container';
const SERVER_LABEL = 'actor-gateway.server';
/** Time limit of one engine command, so that an engine that does not respond cannot block a stop. */
const COMMAND_MS = 10_000;
const MAX_OUTPUT_BYTES = 64 * 1024;

export interface Container {
  /** The engine: docker or podman, or its path. */
  readonly engine: string;
  /** Arguments before the subcommand, such as `--context NAME`. */
  readonly engineArgs: readonly string[];
  readonly cwd: string;
  /** Environment variables by which the client locates the engine. */
  readonly env: Readonly<Record<string, string>>;
  readonly token: string;
  /** False if the command line sets a name, which a container of another owner may have. */
  readonly hasOwnName: boolean;
  /** True if the container is removed, not only stopped. */
  readonly isRemoved: boolean;
}

export function newContainerToken(): string {
  return randomBytes(8).toString('hex');
}

/** Returns the options of `run` that identify the container. */
export function identifyingOptions(
  { token, hasOwnName }: Pick<Container, 'token' | 'hasOwnName'>,
  server: string,
): readonly string[] {
  const labels = ['--label', `${LABEL}=${token}`, '--label', `${SERVER_LABEL}=${server}`];
  return hasOwnName ? [...labels, '--name', nameOf(token)] : labels;
}

const nameOf = (token: string) => `actor-gateway-${token}`;

/** Parses the container in a record; undefined if it is missing or invalid. */
export function parseContainer(value: unknown): Container | undefined {
  const { engine, engineArgs, cwd, env, token, ...flags } = (value ?? {}) as Record<keyof Container, unknown>;
  if (typeof engine !== 'string' || typeof cwd !== 'string' || !isTexts(engineArgs)) return undefined;
  if (typeof token !== 'string' || !/^[0-9a-f]{16}$/.test(token)) return undefined;
  if (typeof env !== 'object' || env === null || !isTexts(Object.values(env))) return undefined;
  const { hasOwnName, isRemoved } = flags;
  return {
    ...{ engine, engineArgs, cwd, token },
    env: env as Container['env'],
    hasOwnName: hasOwnName === true,
    isRemoved: isRemoved === true,
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/**
 * Kills the container, and removes it if its command line has `--rm`. Returns true if it was running. Rejects
 * with the engine's message if it may still run.
 */
export async function endContainer(container: Container, signal?: AbortSignal): Promise<boolean> {
  const { token, hasOwnName, isRemoved } = container;
  const run = (...args: readonly string[]) => runEngine(container, args, signal);
  const filter = `label=${LABEL}=${token}`;
  const names = hasOwnName ? [nameOf(token)] : (await run('ps', '-aq', '--filter', filter)).split(/\s+/);
  let wasRunning = false;
  for (const name of names.filter((each) => each !== '')) {
    const problem = await problemOf(run('kill', name), /no such container|not running|only kill running/i);
    wasRunning ||= problem === '';
    const isGone = /no such container/i.test(problem);
    if (isRemoved && !isGone)
      await problemOf(run('rm', '-f', name), /no such container|already in progress/i);
  }
  return wasRunning;
}

/** Returns the engine's message about a container that has ended before, otherwise an empty text. */
async function problemOf(command: Promise<string>, expected: RegExp): Promise<string> {
  try {
    await command;
    return '';
  } catch (error) {
    const { message } = error as Error;
    if (expected.test(message)) return message;
    throw error;
  }
}

/** Runs an engine command and returns its stdout. Rejects with the last line of its stderr. */
function runEngine(
  { engine, engineArgs, cwd, env }: Container,
  args: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const options = {
    cwd,
    env: { ...env },
    signal,
    timeout: COMMAND_MS,
    killSignal: 'SIGKILL' as const,
    maxBuffer: MAX_OUTPUT_BYTES,
    windowsHide: true,
  };
  return new Promise((resolve, reject) => {
    execFile(engine, [...engineArgs, ...args], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout);
      const reason = stderr.trim().split('\n').at(-1) ?? '';
      const problem =
        error.killed === true ? `no answer within ${COMMAND_MS / 1000} s` : error.message.split('\n', 1)[0];
      reject(new Error(`${engine} ${args[0]}: ${reason === '' ? problem : reason}`));
    });
  });
}

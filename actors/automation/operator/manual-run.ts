// Parses the body of POST /triggers/:name/run, member by member, since it comes from outside.

import { InvalidQueryError } from '../../errors.ts';

export interface ManualRun {
  /** Without a leading slash; '' for none. */
  readonly command: string;
  readonly input: Readonly<Record<string, string>>;
  readonly text: string;
  /** The caller has been asked and wants it. */
  readonly isConfirmed: boolean;
  /** Answer when the run has ended, or after this long; 0: at once. */
  readonly waitSeconds: number;
}

const MAX_WAIT_SECONDS = 600;
const MEMBERS = ['command', 'input', 'text', 'confirmed', 'wait_seconds'];

/** Throws InvalidQueryError. */
export function manualRun(body: unknown): ManualRun {
  if (body === undefined) return { command: '', input: {}, text: '', isConfirmed: false, waitSeconds: 0 };
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new InvalidQueryError('the body should be an object');
  const given = body as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(given).find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    throw new InvalidQueryError(
      `there is no member ${JSON.stringify(unknown.slice(0, 40))}; there are ${MEMBERS.join(', ')}`,
    );
  const { command = '', input = {}, text = '', confirmed = false, wait_seconds = 0 } = given;
  if (typeof command !== 'string') throw new InvalidQueryError('command should be text');
  if (typeof text !== 'string') throw new InvalidQueryError('text should be text');
  if (typeof confirmed !== 'boolean') throw new InvalidQueryError('confirmed should be true or false');
  const isWait = typeof wait_seconds === 'number' && wait_seconds >= 0 && wait_seconds <= MAX_WAIT_SECONDS;
  if (!isWait) throw new InvalidQueryError(`wait_seconds should be a number from 0 to ${MAX_WAIT_SECONDS}`);
  return {
    command: command.replace(/^\//, ''),
    input: texts(input),
    text,
    isConfirmed: confirmed,
    waitSeconds: wait_seconds,
  };
}

function texts(input: unknown): Readonly<Record<string, string>> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject || !Object.values(input).every((value) => typeof value === 'string'))
    throw new InvalidQueryError('input should be an object whose members are texts');
  return input as Readonly<Record<string, string>>;
}

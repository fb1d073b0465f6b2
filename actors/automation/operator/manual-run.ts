// Parses the body of POST /triggers/:name/run.

import { parseMembers, parseWaitSeconds } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';

export interface ManualRun {
  /** Command name, excluding the slash; may be empty. */
  readonly command: string;
  readonly input: Readonly<Record<string, string>>;
  readonly text: string;
  /** The caller has confirmed the run. */
  readonly isConfirmed: boolean;
  /** Maximum wait for the result, in seconds; 0: respond immediately. */
  readonly waitSeconds: number;
}

const MEMBERS = ['command', 'input', 'text', 'confirmed', 'wait_seconds'];

/** Throws InvalidQueryError, which also covers invalid bodies. */
export function manualRun(body: unknown): ManualRun {
  if (body === undefined) return { command: '', input: {}, text: '', isConfirmed: false, waitSeconds: 0 };
  const members = parseMembers(body, 'the body', MEMBERS);
  const { command = '', input = {}, text = '', confirmed = false } = members;
  if (typeof command !== 'string') throw new InvalidQueryError('command should be text');
  if (typeof text !== 'string') throw new InvalidQueryError('text should be text');
  if (typeof confirmed !== 'boolean') throw new InvalidQueryError('confirmed should be true or false');
  return {
    command: command.replace(/^\//, ''),
    input: texts(input),
    text,
    isConfirmed: confirmed,
    waitSeconds: parseWaitSeconds(members),
  };
}

function texts(input: unknown): Readonly<Record<string, string>> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject || !Object.values(input).every((value) => typeof value === 'string'))
    throw new InvalidQueryError('input should be an object whose members are texts');
  return input as Readonly<Record<string, string>>;
}

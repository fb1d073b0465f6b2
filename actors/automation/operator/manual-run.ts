// Parses the body of POST /triggers/:name/run, member by member, since it comes from outside.

import { membersOf, waitSecondsIn } from '../../base/errors/body-members.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';

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

const MEMBERS = ['command', 'input', 'text', 'confirmed', 'wait_seconds'];

/** Throws InvalidQueryError. */
export function manualRun(body: unknown): ManualRun {
  if (body === undefined) return { command: '', input: {}, text: '', isConfirmed: false, waitSeconds: 0 };
  const given = membersOf(body, 'the body', MEMBERS);
  const { command = '', input = {}, text = '', confirmed = false } = given;
  if (typeof command !== 'string') throw new InvalidQueryError('command should be text');
  if (typeof text !== 'string') throw new InvalidQueryError('text should be text');
  if (typeof confirmed !== 'boolean') throw new InvalidQueryError('confirmed should be true or false');
  return {
    command: command.replace(/^\//, ''),
    input: texts(input),
    text,
    isConfirmed: confirmed,
    waitSeconds: waitSecondsIn(given),
  };
}

function texts(input: unknown): Readonly<Record<string, string>> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject || !Object.values(input).every((value) => typeof value === 'string'))
    throw new InvalidQueryError('input should be an object whose members are texts');
  return input as Readonly<Record<string, string>>;
}

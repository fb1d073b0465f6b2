// Triggers, agents, fleets and flows of -f, in the shapes of the API.

import type { Command } from 'commander';
import { ApiProblem, type ApiResponse } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { Situation } from './operation.ts';
import type { ResourceNoun } from './resource-files.ts';

const DONE = 200;

interface Named {
  readonly name: string;
}

export function declareFiles(command: Command): void {
  command.option(
    '-f, --file <path...>',
    'read files or folders instead of asking a gateway; may be given several times',
  );
}

const filesOf = ({ options }: Situation) => options.file as readonly string[] | undefined;

export const hasFiles = (situation: Situation): boolean => filesOf(situation) !== undefined;

/** All of them, or the one that is named. What is wrong with the files is printed, and with an error nothing else. */
export async function fromFiles(situation: Situation, noun: ResourceNoun): Promise<ApiResponse> {
  const [name] = situation.args;
  // With them the whole of the schemas is loaded, which no other command needs.
  const files = await import('./resource-files.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  const loaded = await files.readResourceFiles(filesOf(situation) ?? []);
  printProblems(loaded.problems);
  if (!files.isGood(loaded)) throw new UsageError('the files have errors, as printed above');
  const resources = files.inFiles(noun, loaded);
  if (name === undefined) return answered({ [`${noun}s`]: resources.map(({ row }) => row) });
  const resource = resources.find((each) => each.name === name);
  if (resource !== undefined) return answered(resource.details);
  throw unknownName(noun, name, resources);
}

export function unknownName(noun: string, name: string, known: readonly Named[]): ApiProblem {
  const names = known.map((each) => each.name);
  return new ApiProblem(`there is no ${noun} ${JSON.stringify(name)}; ${hintFor(name, names)}`, false);
}

export function answered(body: object): ApiResponse {
  return { status: DONE, body, text: JSON.stringify(body) };
}

// Answers `show` and list commands from files (-f) instead of calling a gateway, in the JSON of the API.

import type { Command } from 'commander';
import { ApiProblem, type GatewayResponse } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CommandContext } from './operation.ts';
import type { ResourceNoun } from './resource-files.ts';

const HTTP_OK = 200;

interface NamedRow {
  readonly name: string;
}

export function declareFiles(command: Command): void {
  command.option(
    '-f, --file <path...>',
    'files or folders to read, instead of a running gateway; repeatable',
  );
}

const filesOf = ({ options }: CommandContext) => options.file as readonly string[] | undefined;

export const hasFiles = (context: CommandContext): boolean => filesOf(context) !== undefined;

/**
 * Returns all resources with the same kind, or only the named resource. Prints the problems of the files.
 * Throws CommandLineError if any problem is an error.
 */
export async function fromFiles(context: CommandContext, noun: ResourceNoun): Promise<GatewayResponse> {
  const [name] = context.args;
  // Imported lazily, because it loads all schemas.
  const files = await import('./resource-files.ts');
  const { printProblems } = await import('../views/problem-lines.ts');
  const loadedFiles = await files.readResourceFiles(filesOf(context) ?? []);
  printProblems(loadedFiles.problems);
  if (!files.areValid(loadedFiles)) throw new CommandLineError('the files have errors, as printed above');
  const resources = files.resourcesOfKind(noun, loadedFiles);
  if (name === undefined) return okResponse({ [`${noun}s`]: resources.map(({ row }) => row) });
  const resource = resources.find((each) => each.name === name);
  if (resource !== undefined) return okResponse(resource.details);
  throw unknownNameProblem(noun, name, resources);
}

export function unknownNameProblem(noun: string, name: string, rows: readonly NamedRow[]): ApiProblem {
  const names = rows.map((each) => each.name);
  return new ApiProblem(`there is no ${noun} ${JSON.stringify(name)}; ${hintFor(name, names)}`);
}

export function okResponse(body: object): GatewayResponse {
  return { status: HTTP_OK, body, text: JSON.stringify(body) };
}

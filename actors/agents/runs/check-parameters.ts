// Validates parameters for manual flow runs.

import type { Flow } from '../../../config/resources/flows/flow.ts';
import { InvalidQueryError } from '../../base/errors/errors.ts';

/** Throws InvalidQueryError for unknown or missing parameters. */
export function checkParameters(
  { name, parameters }: Pick<Flow, 'name' | 'parameters'>,
  values: Readonly<Record<string, string>>,
): void {
  const names = parameters.map((each) => each.name);
  const unknown = Object.keys(values).find((each) => !names.includes(each));
  if (unknown !== undefined)
    throw new InvalidQueryError(
      `flow ${name} has no parameter ${JSON.stringify(unknown.slice(0, 64))}; ${names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`}`,
    );
  const missing = parameters.filter((each) => each.required && (values[each.name] ?? '') === '');
  if (missing.length > 0)
    throw new InvalidQueryError(
      `flow ${name} needs ${missing.map((each) => each.name).join(', ')} under parameters`,
    );
}

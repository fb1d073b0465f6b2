// Reads an agent's definition: the text of its `spec` that is stored with a run, so that a started run
// continues unchanged if the agent's file changes. Variables get their current values; the file is not read.

import { ConfigError, hasError } from '../../reader/problem.ts';
import { SchemaReader } from '../../reader/schema-reader.ts';
import type { SecretValues } from '../../reader/secret-values.ts';
import { SourceFile } from '../../reader/source-file.ts';
import type { Environment } from '../../reader/substitute.ts';
import { definitionTree } from './definition-text.ts';
import type { ModelRuntime } from './model-runtime.ts';
import { readModel } from './read-model.ts';
import { readSpec } from './read-spec.ts';

/**
 * Reads a `ModelRuntime.definition` with the variables in `env`. Paths are relative to the folder of `file`,
 * the absolute path of the agent's file. Adds values of variables to `secrets`. Throws ConfigError if a
 * variable is unset or the text is invalid.
 */
export function readDefinition(
  text: string,
  env: Environment,
  secrets: SecretValues,
  file: string,
): ModelRuntime {
  // Without text, because positions in the stored text are not positions in the current file.
  const source = new SourceFile(file, '');
  const reader = new SchemaReader(source, env, secrets);
  const runtime = fromText(reader, text, file);
  if (runtime === undefined || hasError(reader.problems))
    throw new ConfigError(
      reader.problems.length > 0
        ? reader.problems
        : [source.problem(0, 'the definition of the run cannot be read')],
    );
  return runtime;
}

/** Returns undefined if the text is not JSON or sets no model. */
function fromText(reader: SchemaReader, text: string, file: string): ModelRuntime | undefined {
  try {
    const spec = { key: 'spec', keyOffset: 0, value: definitionTree(text) };
    const isSpecOnly = true;
    const written = readSpec(reader, { kind: 'map', offset: 0, pairs: [spec] }, isSpecOnly);
    return readModel(reader, written, file);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

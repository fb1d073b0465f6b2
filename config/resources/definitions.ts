// Reads definitions: the texts of fleet and flow files that are stored with runs, so that a started run
// continues unchanged if its file changes. Variables get their current values; the files are not read.

import { ConfigError, hasError } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import type { SecretValues } from '../reader/secret-values.ts';
import { SourceFile } from '../reader/source-file.ts';
import type { Environment } from '../reader/substitute.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { definitionTree } from './agents/definition-text.ts';
import type { Fleet } from './fleets/fleet.ts';
import { readFleet } from './fleets/read-fleet.ts';
import type { Flow } from './flows/flow.ts';
import { readFlow } from './flows/read-flow.ts';
import { inlineRoot } from './inline-root.ts';
import type { ReadResource } from './resource-context.ts';

export interface DefinitionContext {
  readonly name: string;
  /** Absolute path of the original file; paths in the definition are relative to its folder. */
  readonly file: string;
  readonly env: Environment;
  /** Collects values of variables, to redact them in output. */
  readonly secrets: SecretValues;
}

interface ReadDefinition<T> {
  /** The fleet or flow; undefined if the text has errors. */
  readonly found: T | undefined;
  /** Agents and fleets defined within it; their readers have their problems. */
  readonly inline: readonly ReadResource[];
}

/** Reads a `Flow.definition`. Rejects with ConfigError if a variable is unset or the text is invalid. */
export function flowDefinition(text: string, context: DefinitionContext): Promise<Flow> {
  return readStored(text, context, async (reader, spec) => {
    const { name, file } = context;
    const { flow, inline } = await readFlow(reader, inlineRoot('Flow', spec), file, name);
    return { found: flow, inline };
  });
}

/** Reads a `Fleet.definition`. Rejects like `flowDefinition`. */
export function fleetDefinition(text: string, context: DefinitionContext): Promise<Fleet> {
  return readStored(text, context, async (reader, spec) => {
    const { name, file } = context;
    const { fleet, inline } = await readFleet(reader, inlineRoot('Fleet', spec), file, name);
    return { found: fleet, inline };
  });
}

async function readStored<T>(
  text: string,
  { file, env, secrets }: DefinitionContext,
  read: (reader: SchemaReader, spec: YamlTree) => Promise<ReadDefinition<T>>,
): Promise<T> {
  // Without text, because positions in the stored text are not positions in the current file.
  const source = new SourceFile(file, '');
  const reader = new SchemaReader(source, env, secrets);
  // With `warning`, a flow with an unsafe URL is loaded, and only the node with this URL fails.
  reader.unsafeUrls = 'warning';
  const spec = treeIn(text);
  const { found, inline } = spec === undefined ? { found: undefined, inline: [] } : await read(reader, spec);
  const problems = [reader, ...inline.map((each) => each.reader)].flatMap((each) => each.problems);
  if (found !== undefined && !hasError(problems)) return found;
  throw new ConfigError(
    problems.length > 0 ? problems : [source.problem(0, 'the definition of the run cannot be read')],
  );
}

/** Returns undefined if the text is not JSON. */
function treeIn(text: string): YamlTree | undefined {
  try {
    return definitionTree(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

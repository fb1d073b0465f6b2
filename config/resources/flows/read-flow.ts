// Reads a flow (a graph of nodes that answers an event) from a document, together with the agents and fleets
// that the document defines. flow-checks.ts checks the names in it once all files are loaded.

import type * as Type from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { definitionOf } from '../agents/definition-text.ts';
import type { ReadResource } from '../resource-context.ts';
import type { Flow } from './flow.ts';
import { flowSchema, flowSpecSchema } from './flow-schema.ts';
import { readInlineHandlers } from './inline-handlers.ts';
import { readBody } from './read-body.ts';

type WrittenFlow = Written<Type.Static<typeof flowSchema>>;

export interface ReadFlow {
  /** The flow; undefined if the file has errors. */
  readonly flow: Flow | undefined;
  /** Agents and fleets that the flow defines itself, with the readers that have their problems. */
  readonly inline: readonly ReadResource[];
}

/**
 * Reports problems to `reader` and to the readers of `inline`. `file` is absolute. `inlineName` is the name
 * of a definition stored with a run, which has no `metadata.name`. Never rejects.
 */
export async function readFlow(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  inlineName?: string,
): Promise<ReadFlow> {
  // The author of an invalid `${` in a flow probably needs a template.
  reader.noReferenceAdvice = ', or {{ steps.ID.output }} for the output of a node';
  const tree = memberOf(root, 'spec');
  const rootWithKind = withMember(root, 'kind', (kind) =>
    kind.kind === 'scalar' ? { ...kind, value: 'Flow' } : kind,
  );
  if (memberOf(tree, 'trigger') !== undefined) refuseTrigger(reader, tree);
  const rootWithoutBody = withMember(rootWithKind, 'spec', (spec) =>
    withoutMembers(spec, ['nodes', 'connections', 'trigger']),
  );
  // These fields are read by readBody. They are registered, so that a misspelt key gets a suggestion.
  reader.registerAliases('spec', ['nodes', 'connections']);
  const document = reader.read(flowSchema, rootWithoutBody, '') as WrittenFlow | undefined;
  const spec = fillDefaults(flowSpecSchema, (document?.spec ?? {}) as never);
  // The reader has reported invalid items, which are undefined.
  const validParameters = spec.parameters.filter((each) => each !== undefined);
  const parameters = validParameters.map(({ name, required, description, default: byDefault }) => ({
    ...{ name, required, description, default: byDefault },
  }));
  const names = parameters.flatMap(({ name }) => name ?? []);
  const name = inlineName ?? document?.metadata?.name;
  const inline = await readInlineHandlers(reader, { name: name ?? 'flow', file, spec: tree });
  const { resources, agents, fleets } = inline;
  const body = tree && readBody({ reader, tree, path: 'spec', parameters: names, inline });
  const isValid = [reader, ...resources.map((each) => each.reader)].every((each) => !hasError(each.problems));
  if (name === undefined || tree === undefined || body === undefined || !isValid)
    return { flow: undefined, inline: resources };
  const definition = definitionOf(tree);
  const { description, timeout_seconds } = spec;
  const inlineHashes = [...agents.values(), ...fleets.values()].map((each) => each.hash);
  // The name `written` is part of the hash, so it is not changed.
  const hash = contentHash({ name, definition, written: inlineHashes });
  return {
    flow: { name, description, parameters, timeout_seconds, ...body, file, hash, definition },
    inline: resources,
  };
}

/** Reports `spec.trigger` of other programs, with the remedy. */
function refuseTrigger(reader: SchemaReader, spec: YamlTree | undefined): void {
  if (spec?.kind !== 'map') return;
  for (const { key, keyOffset, value } of spec.pairs)
    if (key === 'trigger') {
      reader.recordPosition('spec.trigger', keyOffset, value.offset);
      reader.reportKey(
        'spec.trigger',
        'must be a Trigger that refers to this flow: commands: { /NAME: { flow: NAME } }',
      );
    }
}

// From the tree of one document to a flow.

import type * as Type from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { fillDefaults, type Written } from '../../reader/fill-defaults.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, withMember, withoutMembers } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { definitionOf } from '../agents/definition-text.ts';
import type { Flow } from './flow.ts';
import { flowSchema, flowSpecSchema } from './flow-schema.ts';
import { readBody } from './read-body.ts';

type WrittenFlow = Written<Type.Static<typeof flowSchema>>;

/** Reports to `reader`; `file` is absolute. Undefined where something is wrong. */
export function readFlow(reader: SchemaReader, root: YamlTree, file: string): Flow | undefined {
  reader.noReferenceAdvice = ', or {{ steps.ID.output }} for what a node has given';
  const tree = memberOf(root, 'spec');
  const meant = withMember(root, 'kind', (kind) =>
    kind.kind === 'scalar' ? { ...kind, value: 'Flow' } : kind,
  );
  if (memberOf(tree, 'trigger') !== undefined) refuseTrigger(reader, tree);
  const known = withMember(meant, 'spec', (spec) =>
    withoutMembers(spec, ['nodes', 'connections', 'trigger']),
  );
  reader.alsoKnown('spec', ['nodes', 'connections']);
  const document = reader.read(flowSchema, known, '') as WrittenFlow | undefined;
  const spec = fillDefaults(flowSpecSchema, (document?.spec ?? {}) as never);
  const parameters = spec.parameters.map(({ name, required, description, default: byDefault }) => ({
    ...{ name, required, description, default: byDefault },
  }));
  const names = parameters.flatMap(({ name }) => name ?? []);
  const body = tree && readBody({ reader, tree, path: 'spec', parameters: names });
  const name = document?.metadata?.name;
  if (name === undefined || tree === undefined || body === undefined || hasError(reader.problems))
    return undefined;
  const definition = definitionOf(tree);
  const { description, timeout_seconds } = spec;
  const hash = contentHash({ name, definition });
  return { name, description, parameters, timeout_seconds, ...body, file, hash, definition };
}

function refuseTrigger(reader: SchemaReader, spec: YamlTree | undefined): void {
  if (spec?.kind !== 'map') return;
  for (const { key, keyOffset, value } of spec.pairs)
    if (key === 'trigger') {
      reader.place('spec.trigger', keyOffset, value.offset);
      reader.reportKey(
        'spec.trigger',
        'make it a Trigger that names this flow: commands: { /NAME: { flow: NAME } }',
      );
    }
}

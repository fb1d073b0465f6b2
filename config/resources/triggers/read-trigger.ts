// From the tree of one document to a trigger: aliases replaced, fields checked along the schema of its type, defaults of
// the platform and of the schema filled in, and the rules that no schema can say.

import * as Type from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { translated } from '../../reader/field-table.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, textOf, withMember } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { fieldAliases, typeMeant } from '../aliases.ts';
import { approversOf } from '../approval-rules.ts';
import type { ReadResource, ResourceContext } from '../resource-context.ts';
import { readBindings } from './bindings.ts';
import { readMessengerForm } from './messenger-form.ts';
import { agentTarget, optionalAgent } from './target.ts';
import type { Trigger } from './trigger.ts';
import { givenBy, isUnverified, readConfig, requiring, warnOfLiteralSecrets } from './trigger-config.ts';
import { readOptions } from './trigger-options.ts';
import { triggerSchema, type WrittenTrigger } from './trigger-schema.ts';
import { platformOf, type TypeName, triggerTypes } from './trigger-types.ts';
import { readWithoutType } from './untyped-trigger.ts';

/** Reports to `reader`; `file` is an absolute path. */
export function readTrigger(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  context: ResourceContext,
): ReadResource {
  const spec = memberOf(root, 'spec');
  if (memberOf(spec, 'platform') !== undefined && memberOf(spec, 'type') === undefined)
    return readMessengerForm(reader, root, file, context);
  const word = typeWord(reader, memberOf(spec, 'type'));
  const type = word === undefined ? undefined : typeMeant(word);
  if (type === undefined) return readWithoutType(reader, root, word);
  return readOfType(reader, root, type, file, context);
}

/** The type says how all the rest is read, so a reference in it is replaced before. */
function typeWord(reader: SchemaReader, tree: YamlTree | undefined): string | undefined {
  const word = textOf(tree);
  if (tree === undefined || word?.includes('${') !== true) return word;
  return (reader.read(Type.String(), tree, 'spec.type') as string | undefined) ?? word;
}

function readOfType(
  reader: SchemaReader,
  document: YamlTree,
  type: TypeName,
  file: string,
  context: ResourceContext,
): ReadResource {
  const root = translatedTrigger(reader, document, type);
  const rules = triggerTypes[type];
  const platform = context.platforms[platformOf(type)] ?? {};
  const given = givenBy(platform, rules);
  const written = reader.read(triggerSchema([type], requiring(rules.config, given)), root, '') as
    | WrittenTrigger
    | undefined;
  const spec = written?.spec ?? {};
  const asWritten = memberOf(memberOf(document, 'spec'), 'config');
  warnOfLiteralSecrets(reader, asWritten, rules, fieldAliases[type] ?? {});
  const config = readConfig(reader, spec.config, given, rules, context.listen);
  const { bindings, references } = readBindings(reader, spec.commands ?? {}, rules, approversOf(config));
  const { enabled, ...options } = readOptions(reader, spec, rules);
  const default_target = optionalAgent(spec.default_agent ?? context.defaultAgent);
  if (bindings.length === 0 && default_target === undefined && !reader.has('spec.commands'))
    reader.report('spec', 'leads nowhere: it has no commands, and there is no default_agent', 'warning');
  else if (rules.maturity === 'Experimental')
    reader.report('spec.type', `${type} is Experimental: try it before you depend on it`, 'warning');
  const name = written?.metadata?.name;
  const fallback =
    spec.default_agent === undefined
      ? []
      : [{ target: agentTarget(spec.default_agent), path: 'spec.default_agent' }];
  const read = {
    kind: 'Trigger',
    name,
    reader,
    references: [...references, ...fallback],
    isUnverified: isUnverified(reader, config, given, rules),
  };
  if (name === undefined || config === undefined || hasError(reader.problems)) return read;
  const content = {
    name,
    type,
    config,
    commands: bindings,
    default_target,
    enabled: enabled && platform.enabled !== false,
    labels: written?.metadata?.labels ?? {},
    annotations: written?.metadata?.annotations ?? {},
    ...options,
  };
  // That the config is the one of the type is what its schema and its rules are for.
  const trigger = { ...content, file, hash: contentHash(content) } as unknown as Trigger;
  return { ...read, trigger };
}

/** Returns the document in the fields of the schema. */
function translatedTrigger(reader: SchemaReader, root: YamlTree, type: TypeName): YamlTree {
  const aliases = fieldAliases[type] ?? {};
  return withMember(root, 'spec', (spec) => {
    const typed = withMember(spec, 'type', (tree) =>
      tree.kind === 'scalar' ? { ...tree, value: type } : tree,
    );
    return withMember(typed, 'config', (config) => translated(reader, config, 'spec.config', aliases));
  });
}

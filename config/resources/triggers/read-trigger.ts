// Reads a trigger from a document: translates aliases, validates against its type's schema, applies the
// defaults of platform settings (gateway.yaml) and schema, and checks rules that the schema cannot express.

import * as Type from 'typebox';
import { contentHash } from '../../content-hash.ts';
import { translateFields } from '../../reader/field-table.ts';
import { hasError } from '../../reader/problem.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { memberOf, textOf, withMember } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { fieldAliases, resolveType } from '../aliases.ts';
import { approversOf } from '../approval-rules.ts';
import type { ReadResource, ResourceContext } from '../resource-context.ts';
import { readBindings } from './bindings.ts';
import { readMessengerForm } from './messenger-form.ts';
import { agentTarget, optionalAgent } from './target.ts';
import type { Trigger } from './trigger.ts';
import { conditionAdvice, triggerAdvice } from './trigger-advice.ts';
import {
  isUnverified,
  platformDefaultsOf,
  readConfig,
  requiring,
  warnOfLiteralSecrets,
} from './trigger-config.ts';
import { readOptions } from './trigger-options.ts';
import { triggerSchema, type WrittenTrigger } from './trigger-schema.ts';
import { platformOf, type TypeName, triggerTypes } from './trigger-types.ts';
import { readWithoutType } from './untyped-trigger.ts';

/** Reports problems to `reader`; `file` is an absolute path. */
export function readTrigger(
  reader: SchemaReader,
  root: YamlTree,
  file: string,
  context: ResourceContext,
): ReadResource {
  const spec = memberOf(root, 'spec');
  // The alternative form of business messenger triggers has `platform` instead of `type`.
  if (memberOf(spec, 'platform') !== undefined && memberOf(spec, 'type') === undefined)
    return readMessengerForm(reader, root, file, context);
  const word = readTypeName(reader, memberOf(spec, 'type'));
  const type = word === undefined ? undefined : resolveType(word);
  if (type === undefined) return readWithoutType(reader, root, word);
  return readOfType(reader, root, type, file, context);
}

/** Returns the type in the file. A variable in it is replaced, because the type determines the schema. */
function readTypeName(reader: SchemaReader, tree: YamlTree | undefined): string | undefined {
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
  const root = translateTrigger(reader, document, type);
  const rules = triggerTypes[type];
  const platform = context.platforms[platformOf(type)] ?? {};
  const platformDefaults = platformDefaultsOf(platform, rules);
  const fields = Object.keys((rules.config as { readonly properties?: object }).properties ?? {});
  reader.registerAdvice('spec', triggerAdvice(type, fields));
  reader.registerAdvice('spec.config', conditionAdvice(fields, ''));
  // A required field may be missing if the platform settings contain it.
  const written = reader.read(triggerSchema([type], requiring(rules.config, platformDefaults)), root, '') as
    | WrittenTrigger
    | undefined;
  const spec = written?.spec ?? {};
  const asWritten = memberOf(memberOf(document, 'spec'), 'config');
  warnOfLiteralSecrets(reader, asWritten, rules, fieldAliases[type] ?? {});
  const config = readConfig(reader, spec.config, platformDefaults, rules, context.listen);
  const { bindings, references } = readBindings(reader, spec.commands ?? {}, rules, approversOf(config));
  const { enabled, ...options } = readOptions(reader, spec, rules);
  const default_target = optionalAgent(spec.default_agent ?? context.defaultAgent);
  if (bindings.length === 0 && default_target === undefined && !reader.has('spec.commands'))
    reader.report('spec', 'has no target: it has no commands, and default_agent is not set', 'warning');
  else if (rules.maturity === 'Experimental')
    reader.report('spec.type', `${type} is Experimental: test it before relying on it`, 'warning');
  const name = written?.metadata?.name;
  const defaultReferences =
    spec.default_agent === undefined
      ? []
      : [{ target: agentTarget(spec.default_agent), path: 'spec.default_agent' }];
  const read = {
    kind: 'Trigger',
    name,
    reader,
    references: [...references, ...defaultReferences],
    isUnverified: isUnverified(reader, config, platformDefaults, rules),
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
  // The schema and rules of the type ensure that the config matches it.
  const trigger = { ...content, file, hash: contentHash(content) } as unknown as Trigger;
  return { ...read, trigger };
}

/** Translates aliases to the fields of the schema. */
function translateTrigger(reader: SchemaReader, root: YamlTree, type: TypeName): YamlTree {
  const aliases = fieldAliases[type] ?? {};
  return withMember(root, 'spec', (spec) => {
    const typed = withMember(spec, 'type', (tree) =>
      tree.kind === 'scalar' ? { ...tree, value: type } : tree,
    );
    return withMember(typed, 'config', (config) => translateFields(reader, config, 'spec.config', aliases));
  });
}

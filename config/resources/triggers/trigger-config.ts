// Reads a trigger's `spec.config`: merges it with the platform settings in the gateway file (gateway.yaml),
// and checks it by the rules of its type. read-trigger.ts has validated it against the schema.

import type { TObject } from 'typebox';
import { joinPath } from '../../reader/field-path.ts';
import { fillDefaults } from '../../reader/fill-defaults.ts';
import type { SchemaReader } from '../../reader/schema-reader.ts';
import { textOf } from '../../reader/yaml-members.ts';
import type { YamlTree } from '../../reader/yaml-tree.ts';
import { compilePattern } from '../fields/patterns.ts';
import type { PlatformSettings } from '../resource-context.ts';
import { Fields, type ListenAddress, type TriggerType } from './trigger-type.ts';
import { checkUnverified } from './unverified.ts';
import { checkWebhookPath } from './webhook-path.ts';

/** Fields that trigger types with a webhook share. */
interface WebhookFields {
  readonly path?: string;
  readonly insecure_allow_unverified?: boolean;
}

/** Returns the platform settings as defaults for fields of `spec.config`. */
export function platformDefaultsOf(
  platform: PlatformSettings,
  { webhook }: TriggerType,
): Readonly<Record<string, unknown>> {
  const { enabled: _, webhook_path, ...members } = platform;
  const path = webhook_path !== undefined && webhook !== undefined ? { path: webhook_path } : {};
  const written = Object.entries(members).filter(([, value]) => value !== undefined);
  return { ...path, ...Object.fromEntries(written) };
}

/** Returns the schema without the requirement of fields that the platform settings contain. */
export function requiring(config: TObject, platformDefaults: Readonly<Record<string, unknown>>): TObject {
  const required = (config.required ?? []).filter((key) => platformDefaults[key] === undefined);
  return { ...config, required } as TObject;
}

/** Returns the validated config with defaults; undefined if `spec.config` is missing. */
export function readConfig(
  reader: SchemaReader,
  written: Readonly<Record<string, unknown>> | undefined,
  platformDefaults: Readonly<Record<string, unknown>>,
  rules: TriggerType,
  listen: ListenAddress | undefined,
): object | undefined {
  if (written === undefined) return undefined;
  checkPatterns(reader, written.patterns);
  const filled = fillDefaults(rules.config, { ...platformDefaults, ...withoutBadLists(written) });
  const fields = new Fields(reader, 'spec.config', platformDefaults);
  const config = rules.complete?.(filled, fields, listen) ?? filled;
  checkWebhook(config, fields, rules, listen);
  return config;
}

/** Returns true if a trigger skips a verification that its type supports. */
export function isUnverified(
  reader: SchemaReader,
  config: object | undefined,
  platformDefaults: Readonly<Record<string, unknown>>,
  { proof }: TriggerType,
): boolean {
  if (config === undefined || proof === undefined) return false;
  return !proof.isGiven(config, new Fields(reader, 'spec.config', platformDefaults));
}

/** Checks the fields that all trigger types with a webhook share. */
function checkWebhook(
  config: WebhookFields,
  fields: Fields,
  { webhook, proof }: TriggerType,
  listen: ListenAddress | undefined,
): void {
  const address = webhook?.address?.(config);
  // Without a separate address, the path must not be a path of the gateway.
  const isOnGateway = address === undefined;
  if (webhook !== undefined && config.path !== undefined && webhook.isUsed?.(config) !== false)
    checkWebhookPath(fields, config.path, isOnGateway);
  if (proof === undefined || proof.isGiven(config, fields)) return;
  const isAllowed = config.insecure_allow_unverified === true;
  checkUnverified(fields, isAllowed, proof.setting, (address ?? listen)?.host);
}

/**
 * Removes lists with invalid items (undefined, already reported): the rules of the types expect complete
 * lists.
 */
function withoutBadLists(written: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isGood = (value: unknown) => !Array.isArray(value) || !value.includes(undefined);
  return Object.fromEntries(Object.entries(written).filter(([, value]) => isGood(value)));
}

/** Reports invalid regular expressions in the field `patterns` of chats. */
function checkPatterns(reader: SchemaReader, patterns: unknown): void {
  if (!Array.isArray(patterns)) return;
  for (const [index, pattern] of patterns.entries()) {
    const compiled = typeof pattern === 'string' ? compilePattern(pattern) : undefined;
    if (typeof compiled === 'object') reader.report(joinPath('spec.config.patterns', index), compiled.fault);
  }
}

/**
 * Warns of secrets that are written in the file. `config` is the tree before the translation of aliases;
 * `aliases` are other names of fields.
 */
export function warnOfLiteralSecrets(
  reader: SchemaReader,
  config: YamlTree | undefined,
  rules: TriggerType,
  aliases: Readonly<Record<string, string>>,
): void {
  if (config?.kind !== 'map') return;
  for (const { key, keyOffset, value } of config.pairs) {
    const fieldName = Object.hasOwn(aliases, key) ? (aliases[key] ?? key) : key;
    const member = Object.hasOwn(rules.config.properties, fieldName)
      ? rules.config.properties[fieldName]
      : undefined;
    const path = joinPath('spec.config', key);
    const written = isSecret(member)
      ? [{ fieldPath: path, offset: value.offset, text: textOf(value) }]
      : isSecret(itemsOf(member)) && value.kind === 'list'
        ? value.items.map((item, i) => ({
            fieldPath: joinPath(path, i),
            offset: item.offset,
            text: textOf(item),
          }))
        : [];
    for (const { fieldPath, offset, text = '' } of written) {
      if (text === '' || text.includes('${')) continue;
      if (fieldName !== key) reader.recordPosition(fieldPath, keyOffset, offset);
      reader.report(
        fieldPath,
        `is a literal secret; move it to the environment and write \${NAME}`,
        'warning',
      );
    }
  }
}

/** Returns true for a schema that marks its values as secret. */
const isSecret = (schema: object | undefined): boolean =>
  schema !== undefined && 'writeOnly' in schema && schema.writeOnly === true;

const itemsOf = (schema: object | undefined): object | undefined =>
  schema !== undefined && 'items' in schema ? (schema.items as object) : undefined;

// Validates a parsed file against its schema in a single pass: substitutes `${VAR}`, checks values, and
// records the position of each field. A custom reader provides readable messages, positions, suggestions and
// coercion together; a validator would also add a tenth to the start-up time. A test compares it with
// TypeBox's checks. The result contains only fields from the file; fill-defaults.ts adds the defaults.
//
// `${VAR}` in a number or boolean field contains text ("8080", "true"), which is converted. Literal text is
// not converted: its quotes should be removed.

import type { TSchema } from 'typebox';
import { isCredentialName } from '../credentials/credential-names.ts';
import type { AliasAdvice } from './alias-advice.ts';
import { FieldCredentials, originOf, redactionFault } from './field-credentials.ts';
import { atPath, fieldName, joinPath, prefixPath } from './field-path.ts';
import { FieldSuggestions } from './field-suggestions.ts';
import type { Problem } from './problem.ts';
import { expectedBySchema, foundInFile, type SchemaNode } from './schema-descriptions.ts';
import { canMatch, coerce, isValid } from './schema-match.ts';
import type { SecretValues } from './secret-values.ts';
import type { SourceFile } from './source-file.ts';
import { type Environment, referenceOffset, shellForm, substitute } from './substitute.ts';
import { mayShowVariable } from './visible-values.ts';
import type { YamlMap, YamlScalar, YamlTree } from './yaml-tree.ts';

export class SchemaReader {
  readonly problems: Problem[] = [];
  /** Severity of unknown keys: error in native files, warning in desktop clients' files. */
  unknownKeys: Problem['severity'] = 'error';
  /** Severity of unset variables: warning if the file will be used on a different machine. */
  unsetVariables: Problem['severity'] = 'error';
  /** Enables reports of unset variables; false if the caller prompts for them or keeps `${VAR}`. */
  isUnsetReported = true;
  /** Severity of unsafe URLs in flows. With `warning` the flow is loaded, but its node does not send. */
  unsafeUrls: Problem['severity'] = 'error';
  /** Advice of the caller, appended to the error for a `${` that is not a reference. */
  noReferenceAdvice = '';
  readonly #source: SourceFile;
  readonly #env: Environment;
  readonly #secrets: SecretValues;
  readonly #keyOffsets = new Map<string, number>();
  readonly #valueOffsets = new Map<string, number>();
  readonly #suggestions: FieldSuggestions;
  /** Environments by path: see `registerVariables`. */
  readonly #environments = new Map<string, Environment>();
  /** Paths of fields with errors. */
  readonly #faulty: string[] = [];
  /** Paths of fields with unset variables. */
  readonly #unset: string[] = [];
  readonly #credentials: FieldCredentials;
  /** Number of warnings about secrets that cannot be redacted. */
  #unredacted = 0;

  /** Readers of inner documents, such as an agent inside a fleet file, by path. */
  readonly #inner = new Map<string, SchemaReader>();
  readonly #prefix: string;

  /** `prefix` is the path of an inner document within its file; '' for a whole file. */
  constructor(source: SourceFile, env: Environment, secrets: SecretValues, prefix = '') {
    this.#source = source;
    this.#env = env;
    this.#secrets = secrets;
    this.#credentials = new FieldCredentials(secrets);
    this.#prefix = prefix;
    this.#suggestions = new FieldSuggestions(prefix);
  }

  /**
   * Creates a reader at the path of an inner document. Its problems are separate; its field positions are
   * also available here.
   */
  createInnerReader(path: string): SchemaReader {
    const inner = new SchemaReader(this.#source, this.#env, this.#secrets, this.#prefixed(path));
    inner.unknownKeys = this.unknownKeys;
    inner.unsetVariables = this.unsetVariables;
    inner.unsafeUrls = this.unsafeUrls;
    this.#inner.set(path, inner);
    return inner;
  }

  /** Returns the valid parts of the value; reports and omits invalid parts. */
  read(schema: TSchema, tree: YamlTree, path: string): unknown {
    return this.#read(schema as SchemaNode, tree, path);
  }

  /** Registers further aliases for the keys at `path`. Used in suggestions only. */
  registerAliases(path: string, names: readonly string[]): void {
    this.#suggestions.addAliases(path, names);
  }

  /** Registers advice on foreign keys and values at `path`. */
  registerAdvice(path: string, advice: AliasAdvice): void {
    this.#suggestions.addAdvice(path, advice);
  }

  /**
   * Registers the variables of a mapping for the items of the list at `path`. They take precedence over the
   * environment.
   */
  registerVariables(path: string, variables: YamlTree | undefined): void {
    if (variables?.kind !== 'map') return;
    const mappingVariables: Record<string, string> = {};
    for (const { key, value } of variables.pairs)
      if (value.kind === 'scalar' && value.value !== null)
        mappingVariables[key] = substitute(String(value.value), this.#env).text;
    this.#environments.set(path, { ...this.#env, ...mappingVariables });
  }

  /**
   * Turns the errors from index `from` up to `to` (exclusive) into warnings, because their value is omitted.
   * `consequence` is appended to the messages.
   */
  downgradeErrors(from: number, to: number, consequence: string): void {
    for (let index = from; index < to; index += 1) {
      const problem = this.problems[index];
      if (problem?.severity !== 'error') continue;
      const message = `${problem.message}; ${consequence}`;
      this.problems[index] = { ...problem, message, severity: 'warning' };
    }
  }

  /** Reports unknown keys if members are read separately. */
  checkKeys(map: YamlMap, known: readonly string[], path: string): void {
    for (const { key, keyOffset, value } of map.pairs) {
      if (!known.includes(key)) this.#unknownKey(key, keyOffset, value, known, path);
    }
  }

  /** Returns true if the file contains the field, valid or not. */
  has(path: string): boolean {
    const location = this.#innerLocation(path);
    return this.#keyOffsets.has(path) || location?.inner.has(location.rest) === true;
  }

  /** Counts the fields below this path, valid or not. */
  countBelow(path: string): number {
    return [...this.#keyOffsets.keys()].filter((each) => isBelow(each, path)).length;
  }

  /** Returns true if this field or a field below it has an error. */
  isFaulty(path: string): boolean {
    return this.#faulty.some((each) => each === path || isBelow(each, path));
  }

  /** Returns true if this field or a field below it refers to an unset variable. */
  isUnset(path: string): boolean {
    return this.#unset.some((each) => each === path || isBelow(each, path));
  }

  /** Returns the credentials at or below a path. */
  credentialsBelow(path: string): readonly string[] {
    return this.#credentials.below(path);
  }

  /** Creates a problem at the field's value, or at the nearest enclosing field in the file. */
  problemAt(path: string, message: string, severity: Problem['severity'] = 'error'): Problem {
    return this.#source.problem(this.#valueOffset(path), atPath(this.#prefixed(path), message), severity);
  }

  /** Reports a problem at the field's value. */
  report(path: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#add(this.#valueOffset(path), path, message, severity);
  }

  /** Reports a problem at the field's key. */
  reportKey(path: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#add(this.#keyOffset(path), path, message, severity);
  }

  /**
   * Reports a problem at the position `index` of a field's text, if the file contains that text literally.
   */
  reportWithin(
    path: string,
    value: string,
    index: number,
    message: string,
    severity: Problem['severity'] = 'error',
  ): void {
    const offset = this.#valueOffset(path);
    const before = value.lastIndexOf('\n', index - 1) + 1;
    const [line = ''] = value.slice(before).split('\n', 1);
    const lineOffset = this.#source.text.indexOf(line, offset);
    // A later match is different text: the value was written with variables or escapes. The lines before may
    // be longer in the file than in the value, because of their indentation.
    const isThere = lineOffset !== -1 && lineOffset - offset <= before * 2 + MAX_VALUE_PREFIX;
    this.#add(isThere ? lineOffset + index - before : offset, path, message, severity);
  }

  /** Records the position of a field that the caller reads itself. */
  recordPosition(path: string, keyOffset: number, valueOffset: number): void {
    this.#keyOffsets.set(path, keyOffset);
    this.#valueOffsets.set(path, valueOffset);
  }

  #read(schema: SchemaNode, tree: YamlTree, path: string): unknown {
    this.#valueOffsets.set(path, tree.offset);
    const chosen = schema.anyOf?.find((option) => canMatch(option, tree)) ?? schema;
    if (chosen.anyOf !== undefined || !canMatch(chosen, tree)) return this.#mismatch(schema, tree, path);
    if (tree.kind === 'map') return this.#readMap(chosen, tree, path);
    if (tree.kind === 'list') {
      const { items, maxItems } = chosen;
      if (tree.items.length > (maxItems ?? Number.POSITIVE_INFINITY))
        return this.#mismatch(schema, tree, path);
      return items && tree.items.map((item, index) => this.#read(items, item, joinPath(path, index)));
    }
    return this.#readScalar(chosen, schema, tree, path);
  }

  #readMap(schema: SchemaNode, map: YamlMap, path: string): Record<string, unknown> {
    const result: Record<string, unknown> = Object.create(null);
    const known = schema.properties;
    this.#suggestions.addMapping(path, schema);
    const [keyPattern, memberSchema] = Object.entries(schema.patternProperties ?? {})[0] ?? [];
    const keyExpression = keyPattern === undefined ? undefined : new RegExp(keyPattern);
    for (const { key, keyOffset, value } of map.pairs) {
      const memberPath = joinPath(path, key);
      const member = known === undefined ? memberSchema : ownMember(known, key);
      if (member === undefined) {
        this.#unknownKey(key, keyOffset, value, Object.keys(known ?? {}), path);
      } else if (keyExpression !== undefined && !keyExpression.test(key)) {
        this.#add(keyOffset, memberPath, `the key should be ${schema.patternErrorMessage}`);
      } else {
        this.#keyOffsets.set(memberPath, keyOffset);
        const read = this.#read(member, value, memberPath);
        if (read !== undefined) result[key] = read;
      }
    }
    for (const key of schema.required ?? []) {
      const isMissing = !map.pairs.some((pair) => pair.key === key);
      if (isMissing && known?.[key]?.default === undefined) {
        this.#add(map.offset, joinPath(path, key), 'required, but missing');
      }
    }
    return result;
  }

  /** Reads a scalar by `schema`. Messages describe `unionSchema`, which may have `schema` as an option. */
  #readScalar(schema: SchemaNode, unionSchema: SchemaNode, scalar: YamlScalar, path: string): unknown {
    if (typeof scalar.value !== 'string') {
      if (isValid(schema, scalar.value)) return scalar.value;
      return this.#mismatch(unionSchema, scalar, path);
    }
    const { text, used, names, isResolved } = this.#substituted(scalar, path, schema.writeOnly === true);
    const value = names.length > 0 ? coerce(schema, text) : text;
    const isAccepted = isResolved && isValid(schema, value);
    const origin = originOf(schema, path);
    if (origin !== undefined) this.#credentials.add(path, text, origin);
    const secretTexts = origin === 'named' ? [text] : [];
    for (const { name, value: variableValue } of used) {
      if (mayShowVariable(name, { schema, text, isAccepted })) continue;
      const isNamed = origin === 'named' || isCredentialName(name);
      this.#credentials.add(path, variableValue, isNamed ? 'named' : 'supplied');
      if (isNamed && origin !== 'named' && schema.type === 'string') secretTexts.push(variableValue);
    }
    if (!isResolved) return undefined;
    if (!isAccepted) return this.#mismatch(unionSchema, scalar, path, names, value);
    // #checkShellForm already reports shell syntax.
    if (shellForm(String(scalar.value)) === undefined) this.#checkRedaction(scalar, path, secretTexts);
    return value;
  }

  /**
   * Warns of secrets that cannot be redacted. After the limit, a last warning replaces all further warnings.
   */
  #checkRedaction({ offset }: YamlScalar, path: string, secretTexts: readonly string[]): void {
    const fault = secretTexts.map(redactionFault).find((each) => each !== undefined);
    if (fault === undefined || this.#unredacted > MAX_UNREDACTED) return;
    this.#unredacted += 1;
    const isLast = this.#unredacted > MAX_UNREDACTED;
    this.#add(
      offset,
      path,
      isLast ? `${fault}; warnings for later secrets in this file are omitted` : fault,
      'warning',
    );
  }

  /** Substitutes each `${VAR}` in a scalar. `isResolved` is false if one is invalid or unset. */
  #substituted(scalar: YamlScalar, path: string, isSecret: boolean) {
    const written = this.#source.text.slice(scalar.offset, scalar.end);
    const env = this.#environments.get(path.replace(/\[\d+\]$/, '')) ?? this.#env;
    const { text, used, names, faults } = substitute(String(scalar.value), env);
    this.#secrets.recordSecrecy(scalar, isSecret);
    for (const fault of faults) {
      if (fault.isUnset) this.#unset.push(path);
      if (fault.isUnset && !this.isUnsetReported) continue;
      const referenceStart = scalar.offset + referenceOffset(written, fault.reference);
      const message =
        isSecret || isCredentialName(fieldName(path)) || isCredentialName(fault.name)
          ? fault.message
          : fault.message + fault.otherwise;
      this.#add(
        referenceStart,
        path,
        fault.isUnset ? message : message + this.noReferenceAdvice,
        fault.isUnset ? this.unsetVariables : 'error',
      );
    }
    this.#checkShellForm(scalar, path, isSecret);
    return { text, used, names, isResolved: faults.length === 0 };
  }

  /** Reports shell syntax. The message does not repeat a secret, even if it looks like a variable name. */
  #checkShellForm(scalar: YamlScalar, path: string, isSecret: boolean): void {
    const form = shellForm(String(scalar.value));
    // For a key of the gateway or a provider this is an error, reported in read-gateway.ts.
    if (form === undefined || /^(?:providers[.[].*\.)?api_key$/.test(path)) return;
    const { found, instead } = isSecret ? { found: 'shell syntax', instead: `\${NAME}` } : form;
    this.#add(scalar.offset, path, `${found} is not expanded; write ${instead}`, 'warning');
  }

  #mismatch(
    schema: SchemaNode,
    tree: YamlTree,
    path: string,
    names: readonly string[] = [],
    value: unknown = scalarValueOf(tree),
  ): undefined {
    const expected = expectedBySchema(schema, value);
    const found = foundInFile(schema, tree, names, value);
    const advice = this.#suggestions.forValue(schema, tree, path);
    this.#add(
      tree.offset,
      path,
      `expected ${expected}, found ${found}${advice === undefined ? '' : `; ${advice}`}`,
    );
    return undefined;
  }

  #unknownKey(key: string, offset: number, value: YamlTree, known: readonly string[], path: string): void {
    const advice = this.#suggestions.forKey(key, value, known, path);
    const message = advice === undefined ? 'unknown key' : `unknown key; ${advice}`;
    this.#add(offset, joinPath(path, key.slice(0, 80)), message, this.unknownKeys);
  }

  #add(offset: number, path: string, message: string, severity: Problem['severity'] = 'error'): void {
    if (severity === 'error') this.#faulty.push(path);
    this.problems.push(this.#source.problem(offset, atPath(this.#prefixed(path), message), severity));
  }

  #valueOffset(path: string): number {
    const location = this.#innerLocation(path);
    return location === undefined
      ? nearestOffset(this.#valueOffsets, path)
      : location.inner.#valueOffset(location.rest);
  }

  #keyOffset(path: string): number {
    const location = this.#innerLocation(path);
    const isThere = location?.inner.has(location.rest) === true;
    return isThere ? location.inner.#keyOffset(location.rest) : nearestOffset(this.#keyOffsets, path);
  }

  #innerLocation(path: string): { readonly inner: SchemaReader; readonly rest: string } | undefined {
    for (const [innerPath, inner] of this.#inner)
      if (path.startsWith(`${innerPath}.`)) return { inner, rest: path.slice(innerPath.length + 1) };
    return undefined;
  }

  #prefixed(path: string): string {
    return prefixPath(this.#prefix, path);
  }
}

/** Maximum warnings per file about secrets that cannot be redacted, without the last one. */
const MAX_UNREDACTED = 50;

/** Maximum characters before the text of a value: quotes, or a block header. */
const MAX_VALUE_PREFIX = 100;

function isBelow(field: string, path: string): boolean {
  return field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

/** Finds the nearest enclosing field: the longest recorded prefix of the path. */
function nearestOffset(offsets: ReadonlyMap<string, number>, path: string): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const offset = offsets.get(path.slice(0, length));
    if (offset !== undefined) return offset;
  }
  return 0;
}

function scalarValueOf(tree: YamlTree): unknown {
  return tree.kind === 'scalar' ? tree.value : undefined;
}

function ownMember(properties: Readonly<Record<string, SchemaNode>>, key: string): SchemaNode | undefined {
  return Object.hasOwn(properties, key) ? properties[key] : undefined;
}

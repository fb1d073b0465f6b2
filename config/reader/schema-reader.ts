// Reads a parsed file along its schema, once: substitutes `${VAR}`, checks, and keeps for every field where it
// stands. Written here, and not left to a validator, because one walk then gives plain words, positions,
// suggestions and coercion together, and because a validator costs a tenth of the gateway's start-up time.
// A test holds it against TypeBox's own checks. What it gives is only what was written; see fill-defaults.ts.
//
// A value given through `${VAR}` for a number or a switch is text ("8080", "true"); it is converted when it is
// cleanly one. Text that stands in the file is never converted: there the quotes should go.

import type { TSchema } from 'typebox';
import { isCredentialName } from '../credentials/credential-names.ts';
import { FieldCredentials, originOf, redactionFault } from './field-credentials.ts';
import { atPath, fieldName, joinPath } from './field-path.ts';
import { formAdvice, type Habits, nameAdvice, unitAdvice } from './habits.ts';
import type { Problem } from './problem.ts';
import { expectedBySchema, foundInFile, type SchemaNode } from './schema-words.ts';
import type { SecretValues } from './secret-values.ts';
import { isShown } from './shown-values.ts';
import type { SourceFile } from './source-file.ts';
import { type Environment, referenceOffset, shellForm, substitute } from './substitute.ts';
import { suggest } from './suggest.ts';
import type { YamlMap, YamlScalar, YamlTree } from './yaml-tree.ts';

export class SchemaReader {
  readonly problems: Problem[] = [];
  /** Unknown keys: an error in our own files, a warning in a desktop client's. */
  unknownKeys: Problem['severity'] = 'error';
  /** Variables that are not set: a warning where a file is judged that will be used elsewhere. */
  unsetVariables: Problem['severity'] = 'error';
  /** Whether that is told at all; not where each of them is asked for. */
  isUnsetTold = true;
  /** Severity of unsafe urls in flows. With `warning` the flow loads, and the node refuses to send. */
  unsafeUrls: Problem['severity'] = 'error';
  /** What is said besides of a `${` that begins no reference. */
  noReferenceAdvice = '';
  readonly #source: SourceFile;
  readonly #env: Environment;
  readonly #secrets: SecretValues;
  readonly #keyOffsets = new Map<string, number>();
  readonly #valueOffsets = new Map<string, number>();
  /** By path: see `alsoKnown`. */
  readonly #otherNames = new Map<string, readonly string[]>();
  /** By path: see `knowHabits`. */
  readonly #habits = new Map<string, Habits>();
  /** Paths of the fields that have an error. */
  readonly #faulty: string[] = [];
  /** Paths of the fields whose value is of a variable that is not set. */
  readonly #unset: string[] = [];
  readonly #credentials: FieldCredentials;
  /** Number of warnings about secrets that cannot be redacted. */
  #unredacted = 0;

  /** By the paths of their documents. */
  readonly #inner = new Map<string, SchemaReader>();
  readonly #prefix: string;

  /** `prefix` is the path of what is read, where that is a part of its file. */
  constructor(source: SourceFile, env: Environment, secrets: SecretValues, prefix = '') {
    this.#source = source;
    this.#env = env;
    this.#secrets = secrets;
    this.#credentials = new FieldCredentials(secrets);
    this.#prefix = prefix;
  }

  /**
   * One for a document within this one, at that path. What it reports is not among the problems here; where its fields stand is
   * known here as well.
   */
  within(path: string): SchemaReader {
    const inner = new SchemaReader(this.#source, this.#env, this.#secrets, this.#prefixed(path));
    inner.unknownKeys = this.unknownKeys;
    inner.unsetVariables = this.unsetVariables;
    inner.unsafeUrls = this.unsafeUrls;
    this.#inner.set(path, inner);
    return inner;
  }

  /** The value of `tree` as far as it is good: bad parts are reported and left out. */
  read(schema: TSchema, tree: YamlTree, path: string): unknown {
    return this.#read(schema as SchemaNode, tree, path);
  }

  /** Other names that are taken at a path, which stand in no schema: a slip in one of them is told by it. */
  alsoKnown(path: string, names: readonly string[]): void {
    this.#otherNames.set(path, names);
  }

  /** What people write at a path by habit from other programs: they are told how it is called here. */
  knowHabits(path: string, habits: Habits): void {
    this.#habits.set(path, habits);
  }

  /** Reports unknown keys of a mapping whose members are read one by one. */
  checkKeys(map: YamlMap, known: readonly string[], path: string): void {
    for (const { key, keyOffset, value } of map.pairs) {
      if (!known.includes(key)) this.#unknownKey(key, keyOffset, value, known, path);
    }
  }

  /** Whether the field was written, well or badly. */
  has(path: string): boolean {
    const within = this.#innerOf(path);
    return this.#keyOffsets.has(path) || within?.inner.has(within.rest) === true;
  }

  /** How many fields below this one were written, well or badly. */
  countBelow(path: string): number {
    return [...this.#keyOffsets.keys()].filter((each) => isBelow(each, path)).length;
  }

  /** Whether an error of this field, or of one below it, was reported. */
  isFaulty(path: string): boolean {
    return this.#faulty.some((each) => each === path || isBelow(each, path));
  }

  /** Whether this field, or one below it, has no value here since a variable is not set. */
  isUnset(path: string): boolean {
    return this.#unset.some((each) => each === path || isBelow(each, path));
  }

  /** Returns the credentials at or below a path. */
  credentialsBelow(path: string): readonly string[] {
    return this.#credentials.below(path);
  }

  /** A problem at a field's value, or at the nearest enclosing field that was written. */
  problemAt(path: string, message: string, severity: Problem['severity'] = 'error'): Problem {
    return this.#source.problem(this.#valueOffset(path), atPath(this.#prefixed(path), message), severity);
  }

  /** Reports `problemAt`. */
  report(path: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#add(this.#valueOffset(path), path, message, severity);
  }

  /** Reports at a field's key. */
  reportKey(path: string, message: string, severity: Problem['severity'] = 'error'): void {
    this.#add(this.#keyOffset(path), path, message, severity);
  }

  /** Reports within the text of a field, at that character of it, as far as the text stands in the file as it is. */
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
    const at = this.#source.text.indexOf(line, offset);
    // What stands far below is another text, and this one was written otherwise: with variables, or with escapes.
    const isThere = at !== -1 && at - offset <= before * 2 + MOST_BEFORE;
    this.#add(isThere ? at + index - before : offset, path, message, severity);
  }

  /** Remembers where a field stands that the caller has looked up by itself. */
  place(path: string, keyOffset: number, valueOffset: number): void {
    this.#keyOffsets.set(path, keyOffset);
    this.#valueOffsets.set(path, valueOffset);
  }

  #read(schema: SchemaNode, tree: YamlTree, path: string): unknown {
    this.#valueOffsets.set(path, tree.offset);
    const chosen = schema.anyOf?.find((option) => fits(option, tree)) ?? schema;
    if (chosen.anyOf !== undefined || !fits(chosen, tree)) return this.#mismatch(schema, tree, path);
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
    const [keyPattern, memberSchema] = Object.entries(schema.patternProperties ?? {})[0] ?? [];
    const isKey = keyPattern === undefined ? undefined : new RegExp(keyPattern);
    for (const { key, keyOffset, value } of map.pairs) {
      const memberPath = joinPath(path, key);
      const member = known === undefined ? memberSchema : ownMember(known, key);
      if (member === undefined) {
        this.#unknownKey(key, keyOffset, value, Object.keys(known ?? {}), path);
      } else if (isKey !== undefined && !isKey.test(key)) {
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

  #readScalar(schema: SchemaNode, asWritten: SchemaNode, scalar: YamlScalar, path: string): unknown {
    if (typeof scalar.value !== 'string') {
      if (meets(schema, scalar.value)) return scalar.value;
      return this.#mismatch(asWritten, scalar, path);
    }
    const { text, used, names, isWhole } = this.#substituted(scalar, path, schema.writeOnly === true);
    const value = names.length > 0 ? coerced(schema, text) : text;
    const isGood = isWhole && meets(schema, value);
    const origin = originOf(schema, path);
    if (origin !== undefined) this.#credentials.add(path, text, origin);
    const secretTexts = origin === 'named' ? [text] : [];
    for (const { name, value: given } of used) {
      if (isShown(name, { schema, text, isGood })) continue;
      const isNamed = origin === 'named' || isCredentialName(name);
      this.#credentials.add(path, given, isNamed ? 'named' : 'supplied');
      if (isNamed && origin !== 'named' && schema.type === 'string') secretTexts.push(given);
    }
    if (!isWhole) return undefined;
    if (!isGood) return this.#mismatch(asWritten, scalar, path, names, value);
    // checkShellForm has already reported shell syntax.
    if (shellForm(String(scalar.value)) === undefined) this.#checkRedaction(scalar, path, secretTexts);
    return value;
  }

  /** Warns of secrets that cannot be redacted. The last warning stands for all others in the file. */
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

  #substituted(scalar: YamlScalar, path: string, isSecret: boolean) {
    const written = this.#source.text.slice(scalar.offset, scalar.end);
    const { text, used, names, faults } = substitute(String(scalar.value), this.#env);
    this.#secrets.addPlace(scalar, isSecret);
    for (const fault of faults) {
      if (fault.isUnset) this.#unset.push(path);
      if (fault.isUnset && !this.isUnsetTold) continue;
      const at = scalar.offset + referenceOffset(written, fault.reference);
      const message =
        isSecret || isCredentialName(fieldName(path)) || isCredentialName(fault.name)
          ? fault.message
          : fault.message + fault.otherwise;
      this.#add(
        at,
        path,
        fault.isUnset ? message : message + this.noReferenceAdvice,
        fault.isUnset ? this.unsetVariables : 'error',
      );
    }
    this.#checkShellForm(scalar, path, isSecret);
    return { text, used, names, isWhole: faults.length === 0 };
  }

  /** A secret is not repeated, not even what looks like the name of a variable. */
  #checkShellForm(scalar: YamlScalar, path: string, isSecret: boolean): void {
    const form = shellForm(String(scalar.value));
    // In a key of the gateway, or of a provider, it is an error: read-gateway.ts.
    if (form === undefined || /^(?:providers[.[].*\.)?api_key$/.test(path)) return;
    const { found, instead } = isSecret ? { found: 'what a shell would replace', instead: `\${NAME}` } : form;
    this.#add(scalar.offset, path, `${found} is taken as it stands here; write ${instead}`, 'warning');
  }

  #mismatch(
    schema: SchemaNode,
    tree: YamlTree,
    path: string,
    names: readonly string[] = [],
    value: unknown = asFound(tree),
  ): undefined {
    const expected = expectedBySchema(schema, value);
    const found = foundInFile(schema, tree, names, value);
    const advice = this.#habitAt(path, tree) ?? unitAdvice(path, tree);
    this.#add(
      tree.offset,
      path,
      `expected ${expected}, found ${found}${advice === undefined ? '' : `; ${advice}`}`,
    );
    return undefined;
  }

  #unknownKey(key: string, offset: number, value: YamlTree, known: readonly string[], path: string): void {
    const near = suggest(key, [...known, ...(this.#otherNames.get(path) ?? [])]);
    const habits = this.#habits.get(path);
    const advice =
      (habits && nameAdvice(habits, key, value)) ??
      (near === undefined ? undefined : `did you mean ${near}?`);
    const message = advice === undefined ? 'unknown key' : `unknown key; ${advice}`;
    this.#add(offset, joinPath(path, key.slice(0, 80)), message, this.unknownKeys);
  }

  /** Of a field that there is, in another form. */
  #habitAt(path: string, tree: YamlTree): string | undefined {
    const dot = path.lastIndexOf('.');
    const habits = this.#habits.get(path.slice(0, Math.max(0, dot)));
    return habits && formAdvice(habits, path.slice(dot + 1), tree);
  }

  #add(offset: number, path: string, message: string, severity: Problem['severity'] = 'error'): void {
    if (severity === 'error') this.#faulty.push(path);
    this.problems.push(this.#source.problem(offset, atPath(this.#prefixed(path), message), severity));
  }

  #valueOffset(path: string): number {
    const within = this.#innerOf(path);
    return within === undefined ? nearest(this.#valueOffsets, path) : within.inner.#valueOffset(within.rest);
  }

  #keyOffset(path: string): number {
    const within = this.#innerOf(path);
    const isThere = within?.inner.has(within.rest) === true;
    return isThere ? within.inner.#keyOffset(within.rest) : nearest(this.#keyOffsets, path);
  }

  #innerOf(path: string): { readonly inner: SchemaReader; readonly rest: string } | undefined {
    for (const [at, inner] of this.#inner)
      if (path.startsWith(`${at}.`)) return { inner, rest: path.slice(at.length + 1) };
    return undefined;
  }

  #prefixed(path: string): string {
    return this.#prefix === '' || path === '' ? this.#prefix + path : `${this.#prefix}.${path}`;
  }
}

/** Warnings per file about secrets that cannot be redacted, without the last one. */
const MAX_UNREDACTED = 50;

/** Characters between the beginning of a value and its text: quotes, or the head of a block. */
const MOST_BEFORE = 100;

function isBelow(field: string, path: string): boolean {
  return field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

/** A field's path begins with the path of what encloses it, so the longest known beginning is the nearest. */
function nearest(offsets: ReadonlyMap<string, number>, path: string): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const offset = offsets.get(path.slice(0, length));
    if (offset !== undefined) return offset;
  }
  return 0;
}

function asFound(tree: YamlTree): unknown {
  return tree.kind === 'scalar' ? tree.value : undefined;
}

function ownMember(properties: Readonly<Record<string, SchemaNode>>, key: string): SchemaNode | undefined {
  return Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** Whether the kind of value can be right at all; a scalar's own type is checked after substitution. */
function fits(schema: SchemaNode, tree: YamlTree): boolean {
  if (schema.anyOf !== undefined) return schema.anyOf.some((option) => fits(option, tree));
  if (schema.type === 'object') return tree.kind === 'map';
  if (schema.type === 'array') return tree.kind === 'list';
  return tree.kind === 'scalar';
}

function coerced(schema: SchemaNode, text: string): unknown {
  const isNumeric = schema.type === 'number' || schema.type === 'integer';
  if (isNumeric && /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/.test(text)) return Number(text);
  if (schema.type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

function meets(schema: SchemaNode, value: unknown): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  switch (schema.type) {
    case 'boolean':
      return typeof value === 'boolean';
    case 'number':
    case 'integer':
      return typeof value === 'number' && isWithin(schema, value);
    case 'string':
      if (typeof value !== 'string' || value.length < (schema.minLength ?? 0)) return false;
      if (schema.maxLength !== undefined && value.length > schema.maxLength) return false;
      return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
    default:
      return false;
  }
}

function isWithin(schema: SchemaNode, value: number): boolean {
  if (!Number.isFinite(value) || (schema.type === 'integer' && !Number.isSafeInteger(value))) return false;
  if (schema.minimum !== undefined && value < schema.minimum) return false;
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return false;
  return schema.maximum === undefined || value <= schema.maximum;
}

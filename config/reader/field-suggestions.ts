// Suggestions in messages about unknown keys and values in the wrong format: similar fields, synonyms, fields
// one level up or down, advice on aliases, and the forms that the schemas expect.

import { type AliasAdvice, formAdvice, nameAdvice, unitAdvice } from './alias-advice.ts';
import { joinPath, pathsAround, prefixPath } from './field-path.ts';
import { mappingAdvice } from './mapping-form.ts';
import type { SchemaNode } from './schema-descriptions.ts';
import { suggest } from './suggest.ts';
import { synonymOf } from './synonyms.ts';
import type { YamlTree } from './yaml-tree.ts';

/** Finds suggestions for the fields of one document. */
export class FieldSuggestions {
  readonly #prefix: string;
  readonly #aliases = new Map<string, readonly string[]>();
  readonly #advice = new Map<string, AliasAdvice>();
  /** Schemas of the mappings, by path. */
  readonly #mappings = new Map<string, SchemaNode>();

  /** `prefix` is the path of the document within its file. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Adds further valid names for the keys at `path`. */
  addAliases(path: string, names: readonly string[]): void {
    this.#aliases.set(path, names);
  }

  /** Adds advice on keys and values of other programs at `path`. */
  addAdvice(path: string, advice: AliasAdvice): void {
    this.#advice.set(path, advice);
  }

  /** Adds the schema of the mapping at `path`. */
  addMapping(path: string, schema: SchemaNode): void {
    this.#mappings.set(path, schema);
  }

  /** Returns advice on an unknown key of the mapping at `path`, whose fields are `known`. */
  forKey(key: string, value: YamlTree, known: readonly string[], path: string): string | undefined {
    const aliasAdvice = this.#advice.get(path);
    const advice = aliasAdvice && nameAdvice(aliasAdvice, key, value);
    if (advice !== undefined) return advice;
    const fields = [...known, ...(this.#aliases.get(path) ?? [])];
    const near = suggest(key, fields) ?? synonymOf(key, fields) ?? this.#fieldNearby(key, path);
    return near === undefined ? undefined : `did you mean ${near}?`;
  }

  /** Returns advice on a field with a value in the wrong format. */
  forValue(schema: SchemaNode, tree: YamlTree, path: string): string | undefined {
    const dot = path.lastIndexOf('.');
    const advice = this.#advice.get(path.slice(0, Math.max(0, dot)));
    const form = advice && formAdvice(advice, path.slice(dot + 1), tree);
    return form ?? unitAdvice(path, tree) ?? mappingAdvice(schema, tree, path);
  }

  /** Returns the only matching field one level down, or a matching field one level up. */
  #fieldNearby(key: string, path: string): string | undefined {
    const below = Object.entries(this.#mappings.get(path)?.properties ?? {}).flatMap(([name, schema]) => {
      const field = matchingField(key, schema);
      return field === undefined ? [] : [`${name}.${field}`];
    });
    if (below.length === 1) return below[0];
    // The enclosing paths are sorted, the parent last. The parent of a field at the top level is ''.
    const parent = pathsAround(path).at(-1) ?? '';
    const above = path === '' ? undefined : matchingField(key, this.#mappings.get(parent));
    return above === undefined ? undefined : prefixPath(this.#prefix, joinPath(parent, above));
  }
}

function matchingField(key: string, schema: SchemaNode | undefined): string | undefined {
  const fields = Object.keys(schema?.properties ?? {});
  return fields.find((field) => field === key) ?? synonymOf(key, fields);
}

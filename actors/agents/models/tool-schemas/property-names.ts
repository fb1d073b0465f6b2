// Names of properties for a provider. Names that it accepts are unchanged, and others are rewritten. A name
// has one form in the whole schema, and different names have different forms.

import type { SchemaForm } from './limit-texts.ts';
import { type SchemaShape, variantsOf } from './shape.ts';

const patterns: Readonly<Record<SchemaForm, RegExp>> = {
  json: /^[a-zA-Z0-9_.-]{1,64}$/,
  google: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
};
/** Room for a number that makes a name unique. */
const MAX_STEM = 56;

/** Returns false for the name that JavaScript clients treat as the prototype. */
const isAccepted = (name: string, form: SchemaForm) => patterns[form].test(name) && name !== '__proto__';

export class PropertyNames {
  readonly #forms = new Map<string, string>();
  readonly #originals = new Map<string, string>();

  constructor(shape: SchemaShape, form: SchemaForm) {
    const names = new Set<string>();
    collectNames(shape, names);
    const used = new Set([...names].filter((name) => isAccepted(name, form)));
    for (const name of names) if (!used.has(name)) this.#rename(name, used);
  }

  /** True if a name is rewritten. */
  get hasChanges(): boolean {
    return this.#forms.size > 0;
  }

  /** Returns a name in the provider's form. */
  formOf(name: string): string {
    return this.#forms.get(name) ?? name;
  }

  originalOf(form: string): string {
    return this.#originals.get(form) ?? form;
  }

  #rename(name: string, used: Set<string>): void {
    const stem = name.replace(/[^a-zA-Z0-9_]+/g, '_').slice(0, MAX_STEM);
    const start = /^[a-zA-Z]/.test(stem) ? stem : `p_${stem.replace(/^_+/, '')}`;
    let unique = start;
    for (let n = 2; used.has(unique) || this.#originals.has(unique); n++) unique = `${start}_${n}`;
    this.#forms.set(name, unique);
    this.#originals.set(unique, name);
  }
}

function collectNames(shape: SchemaShape, names: Set<string>): void {
  for (const each of variantsOf(shape)) {
    if (each.kind === 'array') collectNames(each.items, names);
    if (each.kind !== 'object') continue;
    if (each.rest !== undefined) collectNames(each.rest, names);
    for (const [name, property] of each.properties) {
      names.add(name);
      collectNames(property, names);
    }
  }
}

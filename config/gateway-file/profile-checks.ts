// Checks profiles (named subsets of servers and tools) against the catalog of servers. An unknown server id
// is an error, as in agents. A tag that no server has is only a warning, because a later server may have it.

import type { Catalog } from '../catalog/catalog-schema.ts';
import { joinPath } from '../reader/field-path.ts';
import type { Written } from '../reader/fill-defaults.ts';
import type { Problem } from '../reader/problem.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { suggest } from '../reader/suggest.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { MAX_PROFILES } from './profile-schema.ts';

/** Maximum number of names in a message. */
const MAX_LISTED_NAMES = 10;

/** Returns the problems of the profiles. `catalog` is undefined if it is invalid. */
export function profileProblems(
  reader: SchemaReader,
  profiles: Written<GatewayConfig>['profiles'] = {},
  catalog: Catalog | undefined,
): Problem[] {
  const problems: Problem[] = [];
  const count = Object.keys(profiles).length;
  if (count > MAX_PROFILES)
    problems.push(
      reader.problemAt('profiles', `at most ${MAX_PROFILES} profiles are possible, found ${count}`),
    );
  if (catalog === undefined || count === 0) return problems;
  const ids = Object.keys(catalog.servers);
  const known = new Set(ids);
  const tags = [...new Set(Object.values(catalog.servers).flatMap((entry) => entry.tags))].sort();
  for (const [name, profile] of Object.entries(profiles)) {
    const path = joinPath('profiles', name);
    // Invalid items are undefined and already reported.
    for (const [index, id] of (profile?.servers ?? []).entries()) {
      if (id === undefined || known.has(id)) continue;
      const message = `the catalog has no server ${id}${adviceFor(id, ids)}`;
      problems.push(reader.problemAt(joinPath(`${path}.servers`, index), message));
    }
    for (const [index, tag] of (profile?.tags ?? []).entries()) {
      if (tag === undefined || tags.includes(tag)) continue;
      const message = `no server of the catalog has the tag ${tag}${adviceFor(tag, tags)}`;
      problems.push(reader.problemAt(joinPath(`${path}.tags`, index), message, 'warning'));
    }
  }
  return problems;
}

/** Returns the end of a message: a similar name, or the available names. */
function adviceFor(written: string, names: readonly string[]): string {
  const near = suggest(written, names);
  if (near !== undefined) return `; did you mean ${near}?`;
  if (names.length === 0) return '; none exist';
  const rest = names.length > MAX_LISTED_NAMES ? ` and ${names.length - MAX_LISTED_NAMES} more` : '';
  return `; available: ${names.slice(0, MAX_LISTED_NAMES).join(', ')}${rest}`;
}

// What is said of profiles in the gateway file is held against the catalog. A server that is not there is an error, as it is
// for an agent; tags come and go with the servers that have them, so one that no server has is a warning.

import type { Catalog } from '../catalog/catalog-schema.ts';
import { joinPath } from '../reader/field-path.ts';
import type { Written } from '../reader/fill-defaults.ts';
import type { Problem } from '../reader/problem.ts';
import type { SchemaReader } from '../reader/schema-reader.ts';
import { suggest } from '../reader/suggest.ts';
import type { GatewayConfig } from './gateway-schema.ts';
import { MAX_PROFILES } from './profile-schema.ts';

/** Names in one message. */
const MAX_NAMED = 10;

/** What is wrong with the profiles. `catalog` is undefined where that is bad itself, and nothing is known of it. */
export function profileProblems(
  reader: SchemaReader,
  profiles: Written<GatewayConfig>['profiles'] = {},
  catalog: Catalog | undefined,
): Problem[] {
  const problems: Problem[] = [];
  const count = Object.keys(profiles).length;
  if (count > MAX_PROFILES)
    problems.push(
      reader.problemAt('profiles', `at most ${MAX_PROFILES} are possible, and there are ${count}`),
    );
  if (catalog === undefined) return problems;
  const ids = Object.keys(catalog.servers);
  const tags = [...new Set(Object.values(catalog.servers).flatMap((entry) => entry.tags))].sort();
  for (const [name, profile] of Object.entries(profiles)) {
    const path = joinPath('profiles', name);
    // What was written badly is not there, and was reported.
    for (const [index, id] of (profile?.servers ?? []).entries()) {
      if (id === undefined || ids.includes(id)) continue;
      const message = `there is no server ${id} in the catalog${adviceFor(id, ids)}`;
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

function adviceFor(written: string, known: readonly string[]): string {
  const near = suggest(written, known);
  if (near !== undefined) return `; did you mean ${near}?`;
  if (known.length === 0) return '; there are none';
  const rest = known.length > MAX_NAMED ? ` and ${known.length - MAX_NAMED} more` : '';
  return `; there are ${known.slice(0, MAX_NAMED).join(', ')}${rest}`;
}

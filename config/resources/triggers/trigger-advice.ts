// Hints on unknown keys of triggers: targets other than the default agent, and conditions.

import { type AliasAdvice, replacementAdvice } from '../../reader/alias-advice.ts';
import type { TypeName } from './trigger-types.ts';

/** Filters of `config`, in the order of their likelihood. */
const filters = ['patterns', 'repo_events', 'jql_filter', 'services'];

/** For a schedule, `when` is the time. */
const conditionNames = 'filter filters when if condition conditions match where expression'.split(' ');

/** Returns the hints for `spec`. `fields` are the fields of `config`. */
export function triggerAdvice(type: TypeName, fields: readonly string[]): AliasAdvice {
  const command = type === 'Schedule' ? 'tick' : 'NAME';
  const target = (kind: 'flow' | 'fleet') => () =>
    replacementAdvice('commands', `commands: { ${command}: { ${kind}: NAME } }`);
  const flow = target('flow');
  const fleet = target('fleet');
  const conditions = conditionAdvice(fields, 'config.').names;
  return {
    names: { ...conditions, flow, workflow: flow, pipeline: flow, fleet, team: fleet, crew: fleet },
    forms: {},
  };
}

/** Returns the hints for conditions; `prefix` is the path of the filters. */
export function conditionAdvice(fields: readonly string[], prefix: string): AliasAdvice {
  const field = filters.find((filter) => fields.includes(filter));
  const condition = () =>
    field === undefined
      ? 'a trigger has no conditions; use a Conditional node in a flow'
      : replacementAdvice(`${prefix}${field}`);
  const names = conditionNames.filter((name) => name !== 'when' || !fields.includes('cron'));
  return { names: Object.fromEntries(names.map((name) => [name, condition])), forms: {} };
}

// `--check`: checks a configuration without starting anything. Prints the errors, or the servers, triggers,
// agents, fleets and flows if the configuration is valid.

import { Redactor } from '../../../actors/base/errors/redact.ts';
import { loadTarget } from '../../../config/load-config.ts';
import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import { loadConfiguredResources } from '../../../config/resources/configured-resources.ts';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import type { CliOptions } from '../options.ts';
import { agentText } from '../views/banner.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';
import { findStartObstacle } from './start-obstacle.ts';

/** Prints the result. Returns exit code 0, or 2 if the configuration is invalid. */
export async function check({ target, listen, isJson }: CliOptions): Promise<number> {
  try {
    const {
      config: settings,
      catalog,
      warnings,
      catalogPath,
      secrets,
      environment,
    } = await loadTarget(target, process.env, { hasTriggers: true, isListening: true, listen });
    const resources = await loadConfiguredResources(settings, environment, Object.keys(catalog.servers));
    const problems = [...warnings, ...(resources?.problems ?? [])];
    if (hasError(problems)) throw new ConfigError(problems);
    const servers = Object.entries(catalog.servers);
    if (isJson) {
      const names = ({ name }: { readonly name: string }) => name;
      const resourceNames = resources && {
        triggers: resources.triggers.map(names),
        agents: resources.agents.map(names),
        fleets: resources.fleets.map(names),
        flows: resources.flows.map(names),
      };
      await printJson(
        JSON.stringify({ ok: true, servers: servers.map(([id]) => id), ...resourceNames, problems }),
      );
      return 0;
    }
    printProblems(problems);
    const file = 'config' in target ? target.config : target.catalog;
    const catalogName = catalogPath === '' || 'catalog' in target ? 'it' : catalogPath;
    await print(`${file} is valid; ${catalogName} has ${counted(servers.length, 'server')}\n`);
    const redactor = new Redactor(secrets);
    for (const [id, entry] of servers) {
      const why = entry.enabled ? findStartObstacle(entry, process.env) : undefined;
      const note = why === undefined ? '' : `  (cannot start here: ${redactor.redact(why)})`;
      await print(`  ${id}  ${entry.runtime}  ${entry.enabled ? entry.isolation : 'disabled'}${note}\n`);
    }
    if (resources !== undefined) {
      const { triggers, agents, fleets, flows } = resources;
      await print(`with ${resourceCounts(resources)}\n`);
      for (const { name, type, enabled } of triggers)
        await print(`  ${name}  ${type}${enabled ? '' : '  disabled'}\n`);
      for (const agent of agents) await print(`  ${agent.name}  Agent  ${agentText(agent)}\n`);
      for (const { name } of fleets) await print(`  ${name}  Fleet\n`);
      for (const { name } of flows) await print(`  ${name}  Flow\n`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (isJson) await printJson(JSON.stringify({ ok: false, servers: [], problems: error.problems }));
    else printProblems(error.problems);
    return 2;
  }
}

/** Returns `2 triggers and 3 agents`, and the numbers of fleets and flows, unless they are 0. */
export function resourceCounts({ triggers, agents, fleets, flows }: LoadedResources): string {
  const always = [counted(triggers.length, 'trigger'), counted(agents.length, 'agent')];
  const others = [
    ...(fleets.length === 0 ? [] : [counted(fleets.length, 'fleet')]),
    ...(flows.length === 0 ? [] : [counted(flows.length, 'flow')]),
  ];
  const all = [...always, ...others];
  return `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}

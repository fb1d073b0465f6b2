// --check: says what is wrong with a configuration, or what it would serve, and starts nothing.

import { loadConfig } from '../../config/load-config.ts';
import { ConfigError, formatProblem, type Problem } from '../../config/problem.ts';
import type { CliOptions } from './options.ts';

/** Prints the findings and gives the exit code: 0 good, 2 bad. */
export async function check({ config, isJson }: CliOptions): Promise<number> {
  try {
    const { catalog, warnings, catalogPath } = await loadConfig(config, process.env);
    const servers = Object.entries(catalog.servers);
    if (isJson) {
      console.log(JSON.stringify({ ok: true, servers: servers.map(([id]) => id), problems: warnings }));
      return 0;
    }
    printProblems(warnings);
    console.log(
      `${config} is good; ${catalogPath} has ${servers.length} server${servers.length === 1 ? '' : 's'}`,
    );
    for (const [id, entry] of servers) {
      console.log(`  ${id}  ${entry.runtime}  ${entry.enabled ? entry.isolation : 'switched off'}`);
    }
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (isJson) console.log(JSON.stringify({ ok: false, servers: [], problems: error.problems }));
    else printProblems(error.problems);
    return 2;
  }
}

/** One line per problem on stderr, as compilers write them. */
export function printProblems(problems: readonly Problem[]): void {
  for (const problem of problems) {
    const kind = problem.severity === 'warning' ? 'warning: ' : '';
    console.error(formatProblem(kind === '' ? problem : { ...problem, message: kind + problem.message }));
  }
}

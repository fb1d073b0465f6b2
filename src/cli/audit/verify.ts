// `audit verify`: verifies the chain of the audit lines in the files, without a gateway. Reads only the paths
// in the gateway file, so that no variable with a secret needs to be set.

import { readdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { AUDIT_FOLDER, OWN_CHAIN, slotPath } from '../../../actors/audit/audit-files.ts';
import { readEnds } from '../../../actors/audit/end-record.ts';
import { type ChainReport, verifyChain } from '../../../actors/audit/verify-chain.ts';
import { readGateway } from '../../../config/gateway-file/read-gateway.ts';
import { formatProblem } from '../../../config/reader/problem.ts';
import { SchemaReader } from '../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../config/reader/yaml-tree.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError, DEFAULT_STATE_DIR } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { ProgressLine } from '../mcp/progress-line.ts';
import { DEFAULT_CONFIG } from '../options.ts';
import { counted } from '../views/figures.ts';
import { print, printJson } from '../views/output.ts';

interface Options {
  readonly config: string;
  readonly json?: boolean;
}

interface AuditPlace {
  readonly path: string;
  readonly stateDir: string;
}

const DRAW_INTERVAL_MS = 100;
const MEGABYTE = 1_000_000;

const help = `
The first line that was changed, removed, duplicated or moved is printed with file and line number. Removed lines at
either end are detected by a record in state_dir. There is no key: a rewrite of all files and of the record by a user
who may write them is not detected.

Exit codes: 0 nothing was changed, 1 a line was changed, 2 invalid configuration or usage`;

export const verifyAudit: CommandModule = {
  examples: ['actor-gateway audit verify', 'actor-gateway audit verify --config gateway.yaml --json'],
  declare: (command) =>
    command
      .option('-c, --config <file>', 'gateway configuration (YAML)', DEFAULT_CONFIG)
      .option('--json', 'print the result as JSON')
      .addHelpText('after', help),
  run: async (command) => {
    const { config, json } = command.opts<Options>();
    const reports = await verifyAll(await readPlace(config));
    const isIntact = reports.every(({ problem }) => problem === undefined);
    if (json === true)
      await printJson(
        JSON.stringify({
          ok: isIntact,
          chains: reports.map(({ problem = null, ...rest }) => ({ ...rest, problem })),
        }),
      );
    else await print(`${reports.map(textOf).join('\n')}\n`);
    return isIntact ? 0 : 1;
  },
};

/** Verifies the chains of the gateway and of gateways for stdio clients. */
async function verifyAll({ path, stateDir }: AuditPlace): Promise<readonly ChainReport[]> {
  const chains = join(stateDir, AUDIT_FOLDER);
  const names = await readdir(chains).catch(() => []);
  const slots = names.filter((name) => /^stdio-\d+$/.test(name)).sort();
  const line = new ProgressLine();
  let shownAt = 0;
  const onProgress = (read: number, total: number) => {
    if (performance.now() - shownAt < DRAW_INTERVAL_MS) return;
    shownAt = performance.now();
    line.show({ progress: Math.floor(read / MEGABYTE), total: Math.ceil(total / MEGABYTE), message: 'MB' });
  };
  const reports: ChainReport[] = [];
  try {
    for (const name of [OWN_CHAIN, ...slots]) {
      const ends = await readEnds(join(chains, name));
      // Only clients of stdio may have used this configuration.
      if (name === OWN_CHAIN && ends === undefined && slots.length > 0) continue;
      const chainPath = name === OWN_CHAIN ? path : slotPath(path, name);
      reports.push(await verifyChain({ path: chainPath, ends, onProgress }));
    }
  } finally {
    line.close();
  }
  return reports;
}

async function readPlace(config: string): Promise<AuditPlace> {
  const source = await readSourceFile(resolve(config));
  if (!(source instanceof SourceFile)) throw new CommandLineError(`${config}: ${source.reason}`);
  const reader = new SchemaReader(source, process.env, new SecretValues());
  const { root, problems } = parseYamlTree(source);
  const { audit, state_dir } = root === undefined ? {} : readGateway(reader, root, source.path);
  if (audit?.path !== undefined)
    return { path: audit.path, stateDir: state_dir ?? resolve(dirname(source.path), DEFAULT_STATE_DIR) };
  const lines = [...problems, ...reader.problems].map(formatProblem);
  throw new CommandLineError([`${config} has no audit.path`, ...lines].join('\n'));
}

function textOf({ path, files, lines, problem }: ChainReport): string {
  if (problem === undefined)
    return printable(`${path}: ${counted(lines, 'line')} in ${counted(files, 'file')}, unchanged`);
  const { file, line, kind, message } = problem;
  return printable(`${file}:${line}: ${kind}: ${message}`);
}

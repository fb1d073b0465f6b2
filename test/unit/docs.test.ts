// The documents must agree with the program: tables of fields, diagrams, error codes, log messages, links and
// example configurations.

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../config/json-schema/json-schemas.ts';
import { loadConfig } from '../../config/load-config.ts';
import { loadConfiguredResources } from '../../config/resources/configured-resources.ts';
import { triggerTypes, typeNames } from '../../config/resources/triggers/trigger-types.ts';
import { declareFilter } from '../../src/cli/commands/list-deliveries.ts';
import { machineList } from '../../src/cli/commands/machines.ts';
import { mermaid } from '../../src/cli/views/mermaid.ts';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const scratch = newFolder('docs-');

const readText = (path: string) => readFileSync(join(root, path), 'utf8');

function runScript(args: readonly string[]) {
  const result = spawnSync(process.execPath, [join(root, 'scripts/docs.mjs'), ...args], { encoding: 'utf8' });
  return { code: result.status, stderr: result.stderr };
}

const diagrams = Object.fromEntries(
  Object.entries(machineList).map(([name, machine]) => [name, mermaid(machine)]),
);

/**
 * Writes the input of scripts/docs.mjs from the current code, not from the last build. Returns the options.
 */
function writeSources(schemas: Readonly<Record<string, object>>, texts = diagrams): string[] {
  const folder = mkdtempSync(join(scratch, 'sources-'));
  for (const [name, schema] of Object.entries(schemas))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(schema));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.mmd`), text);
  return ['--schemas', folder, '--diagrams', folder];
}

/** Copies the pages. Returns the options for the copies. */
function copyPages(): { configuration: string; charts: string; options: string[] } {
  const folder = mkdtempSync(join(scratch, 'pages-'));
  const configuration = join(folder, 'configuration.md');
  const triggers = join(folder, 'triggers.md');
  const [catalog, agents, fleets, flows] = ['catalog', 'agents', 'fleets', 'flows'].map((name) => {
    const page = join(folder, `${name}.md`);
    cpSync(join(root, `docs/${name}.md`), page);
    return page;
  }) as [string, string, string, string];
  const charts = join(folder, 'state-charts.md');
  const sources = join(folder, 'sources');
  cpSync(join(root, 'docs/triggers.md'), triggers);
  cpSync(join(root, 'docs/sources'), sources, { recursive: true });
  cpSync(join(root, 'docs/configuration.md'), configuration);
  cpSync(join(root, 'docs/state-charts.md'), charts);
  return {
    configuration,
    charts,
    options: [
      '--configuration',
      configuration,
      '--catalog',
      catalog,
      '--triggers',
      triggers,
      '--agents',
      agents,
      '--fleets',
      fleets,
      '--flows',
      flows,
      '--sources',
      sources,
      '--charts',
      charts,
    ],
  };
}

describe('the generated tables and diagrams of the documents', () => {
  test('match schemas, machines and log calls', () => {
    expect(runScript(['--check', ...writeSources(jsonSchemas)])).toEqual({ code: 0, stderr: '' });
  });

  test('contain the log calls and the error codes of the whole source', () => {
    const rowsOf = (page: string) =>
      readFileSync(join(root, 'docs', page), 'utf8').match(/^\| [^|-]/gm) ?? [];
    expect(rowsOf('log-lines.md').length).toBeGreaterThan(100);
    expect(rowsOf('errors.md').length).toBeGreaterThan(30);
  });

  test('are out of date after a field changes, and can be rewritten', () => {
    const { configuration, options } = copyPages();
    const changed = JSON.stringify(jsonSchemas.gateway).replace('"default":"info"', '"default":"warn"');
    const links = [...writeSources({ ...jsonSchemas, gateway: JSON.parse(changed) }), ...options];
    expect(runScript(['--check', ...links])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/configuration\.md is out of date/),
    });
    expect(runScript(links).code).toBe(0);
    expect(readFileSync(configuration, 'utf8')).toMatch(/^\| `log_level` \|.*\| `"warn"` \|/m);
    expect(runScript(['--check', ...links]).code).toBe(0);
  });

  test('are out of date after a machine changes, and can be redrawn', () => {
    const { charts, options } = copyPages();
    const changed = `${diagrams.server}  stopped --> failed: misfortune\n`;
    const links = [...writeSources(jsonSchemas, { ...diagrams, server: changed }), ...options];
    expect(runScript(['--check', ...links])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/state-charts\.md is out of date/),
    });
    expect(runScript(links).code).toBe(0);
    expect(readFileSync(charts, 'utf8')).toContain(`\`\`\`mermaid\n${changed}\`\`\``);
  });
});

test('the check of the documents requires a row in docs/log-lines.md for each log message', () => {
  const log = join(newFolder('log-'), 'log-lines.md');
  const isNotReady = (line: string) => !line.includes('`gateway is ready`');
  writeFileSync(log, readText('docs/log-lines.md').split('\n').filter(isNotReady).join('\n'));
  const { code, stderr } = runScript(['--check', ...writeSources(jsonSchemas), '--log', log]);
  expect(code).toBe(1);
  expect(stderr).toContain('add a row with the meaning: | x | `gateway is ready` | x | MEANING |');
});

describe('docs/errors.md', () => {
  /** Checks a copy of the page, after an edit. */
  function checkErrors(edit: (page: string) => string, ...options: readonly string[]) {
    const errors = join(mkdtempSync(join(scratch, 'errors-')), 'errors.md');
    writeFileSync(errors, edit(readText('docs/errors.md')));
    return runScript(['--check', ...writeSources(jsonSchemas), '--errors', errors, ...options]);
  }

  /** Returns a folder with the gateway's source and a further file. */
  function addSource(text: string): string {
    const folder = mkdtempSync(join(scratch, 'planted-'));
    for (const sourceFolder of ['actors', 'config', 'machines', 'src'])
      symlinkSync(join(root, sourceFolder), join(folder, sourceFolder), 'junction');
    mkdirSync(join(folder, 'libs'));
    writeFileSync(join(folder, 'libs', 'planted.ts'), text);
    return folder;
  }

  const plantedClass = "export class PlantedError extends Error {\n  readonly code = 'ERR_PLANTED';\n}\n";

  test.each(['', '/** Nothing works. */\n', '/** @remedy Plant a tree. */\n'])(
    'requires a meaning and a remedy for a new code: %j',
    (comment) => {
      const { code, stderr } = checkErrors((page) => page, '--source', addSource(comment + plantedClass));
      expect(code).toBe(1);
      expect(stderr).toContain(
        'libs/planted.ts: describe ERR_PLANTED in the doc comment of its class: MEANING @remedy REMEDY',
      );
    },
  );

  test('requires a row for a new code', () => {
    const source = addSource(`/**\n * Nothing works.\n *\n * @remedy Plant a tree.\n */\n${plantedClass}`);
    const { code, stderr } = checkErrors((page) => page, '--source', source);
    expect(code).toBe(1);
    expect(stderr).toContain('docs/errors.md: add a row to a table: | `ERR_PLANTED` |');
  });

  test('has no row for a removed code', () => {
    const { code, stderr } = checkErrors((page) => page.replace(/^\| `ERR_/m, '| `ERR_PLANTED` |\n$&'));
    expect(code).toBe(1);
    expect(stderr).toContain('docs/errors.md: remove this row of ERR_PLANTED');
  });

  test('is out of date if a meaning or a remedy changes', () => {
    const { code, stderr } = checkErrors((page) => page.replace('raise `pool.max`', 'raise `pool.min`'));
    expect(code).toBe(1);
    expect(stderr).toContain('errors.md is out of date');
  });

  test('is refused if a code with an HTTP status has no error class', () => {
    const source = addSource('export const byCode = { ERR_PLANTED: 503 };\n');
    const { code, stderr } = checkErrors((page) => page, '--source', source);
    expect(code).toBe(1);
    expect(stderr).toContain('libs/planted.ts: no error class has the code ERR_PLANTED');
  });
});

const pages = ['.', 'docs', 'docs/sources', 'docs/tool-servers', 'docs/tutorials'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

test('every type of trigger has a page in docs/sources', () => {
  expect(pages).toEqual(
    expect.arrayContaining(typeNames.map((name) => `docs/sources/${name.toLowerCase()}.md`)),
  );
});

test("the API page and the command's help list every source by which deliveries can be filtered", () => {
  const sources = [...typeNames, 'outbox'];
  const row = readText('docs/http-api-triggers.md').match(/^\| `source` \|.*$/m)?.[0];
  const command = new Command();
  declareFilter(command);
  const help = command.helpInformation();
  for (const sourceName of sources.map((name) => name.toLowerCase())) {
    expect(row).toContain(`\`${sourceName}\``);
    expect(help).toContain(sourceName);
  }
});

test.each(pages.filter((page) => page !== 'CHANGELOG.md'))('%s has at most 400 lines', (page) => {
  expect(readText(page).trimEnd().split('\n').length).toBeLessThanOrEqual(400);
});

test.each(pages)('%s links only to existing files and sections', (page) => {
  for (const [, target = '', anchor] of readText(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
    const path = target === '' ? join(root, page) : resolve(root, dirname(page), target);
    expect(existsSync(path), `${page} links to ${target}`).toBe(true);
    if (anchor === undefined) continue;
    const headings = [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      slug(text),
    );
    expect(headings, `${page} links to #${anchor}`).toContain(anchor);
  }
});

const examples = readdirSync(join(root, 'examples')).filter((name) =>
  /(gateway|automation)\.yaml$/.test(name),
);

test("there are examples for remote servers, a desktop client's file, triggers, model agents, fleets and flows", () => {
  expect(examples).toEqual(
    expect.arrayContaining([
      'desktop-gateway.yaml',
      'remote-gateway.yaml',
      'automation.yaml',
      'automation-gateway.yaml',
      'chat-automation.yaml',
      'tracker-automation.yaml',
      'incident-automation.yaml',
      'assistant-automation.yaml',
      'ticket-automation.yaml',
      'flow-automation.yaml',
    ]),
  );
});

const variables = {
  SEARCH_TOKEN: 'a-token-of-ours',
  TICKETS_KEY: 'a-key-of-ours',
  WEBHOOK_SECRET: 'a-secret',
  BOT_TOKEN: '1:a-token',
  COMMUNITY_BOT_TOKEN: 'a-token-of-ours',
  COMMUNITY_APPLICATION_ID: '1457469483726668048',
  COMMUNITY_PUBLIC_KEY: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  BUSINESS_ACCESS_TOKEN: 'a-token-of-ours',
  BUSINESS_PHONE_NUMBER_ID: '106540352242922',
  BUSINESS_VERIFY_TOKEN: 'a-token-of-our-own',
  BUSINESS_APP_SECRET: 'a-secret',
  TEAMCHAT_APP_ID: '11111111-2222-3333-4444-555555555555',
  TEAMCHAT_APP_PASSWORD: 'a-secret',
  WORKSPACE_BOT_TOKEN: 'xoxb-a-token',
  WORKSPACE_SIGNING_SECRET: 'a-secret',
  WORKSPACE_APP_ID: 'A0123ABCDEF',
  TRACKER_WEBHOOK_SECRET: 'a-secret',
  TRACKER_URL: 'https://example.atlassian.net',
  TRACKER_EMAIL: 'agent@example.com',
  TRACKER_API_TOKEN: 'a-token-of-ours',
  INCIDENT_WEBHOOK_SECRET: 'a-secret',
  INCIDENT_API_KEY: 'a-key-of-ours',
  INCIDENT_EMAIL: 'oncall-bot@example.com',
  GEMINI_API_KEY: 'a-key-of-ours',
};

/** Loads a file as `--check` does, without a process per file. Returns the triggers and all problems. */
async function load(name: string, more: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...variables, ...more };
  const options = { hasTriggers: true, isListening: true };
  const { config, catalog, warnings, environment } = await loadConfig(join(root, name), env, options);
  const resources = await loadConfiguredResources(config, environment, Object.keys(catalog.servers));
  const { triggers = [], problems = [] } = resources ?? {};
  return { triggers, problems: [...warnings, ...problems] };
}

test.each(['gateway.yaml', ...examples.map((name) => `examples/${name}`)])(
  '%s has no problems',
  async (name) => {
    expect((await load(name)).problems).toEqual([]);
  },
);

test('the chat example has a folder for each chat, as its comment lists them', async () => {
  const name = 'examples/chat-automation.yaml';
  const matches = [...readFileSync(join(root, name), 'utf8').matchAll(/([a-z-]+) \((\w+)\)/g)];
  const types = typeNames.filter((type) => triggerTypes[type].isChat);
  expect(['BotMessenger', ...matches.map(([, , type]) => type)].sort()).toEqual([...types].sort());
  for (const [, folder = ''] of matches) {
    expect(
      readFileSync(
        join(root, 'examples', folder, readdirSync(join(root, 'examples', folder))[0] ?? ''),
        'utf8',
      ),
    ).toContain(`CHAT=${folder} `);
    const { triggers, problems } = await load(name, { CHAT: folder });
    expect(problems).toEqual([]);
    expect(triggers).toHaveLength(1);
  }
});

test.each(['ARCHITECTURE.md', 'docs/internals.md'])('each source path in %s exists', (page) => {
  const folders = ['', ...readdirSync(join(root, 'actors')).map((sourceFolder) => `actors/${sourceFolder}/`)];
  const paths = [...readText(page).matchAll(/(?<![\w./])[a-z][\w-]*\/[\w./-]*\.ts\b/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(
    paths.filter((path) => !folders.some((sourceFolder) => existsSync(join(root, sourceFolder, path)))),
  ).toEqual([]);
});

/** Converts a heading to an anchor, like code hosts. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}

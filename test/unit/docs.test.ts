// What the documents say is held against the program: tables of fields, diagrams, error codes, log messages, links and
// the example configurations. A page that lies is worse than none.

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../config/json-schema/json-schemas.ts';
import { triggerTypes, typeNames } from '../../config/resources/triggers/trigger-types.ts';
import { declareFilter } from '../../src/cli/commands/list-deliveries.ts';
import { machineList } from '../../src/cli/commands/machines.ts';
import { mermaid } from '../../src/cli/views/mermaid.ts';
import { newFolder } from '../fixtures/new-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const scratch = newFolder('docs-');

const read = (path: string) => readFileSync(join(root, path), 'utf8');

function runScript(args: readonly string[]) {
  const done = spawnSync(process.execPath, [join(root, 'scripts/docs.mjs'), ...args], { encoding: 'utf8' });
  return { code: done.status, stderr: done.stderr };
}

const diagrams = Object.fromEntries(
  Object.entries(machineList).map(([name, machine]) => [name, mermaid(machine)]),
);

/** What the documents are made from, as the source has it and not the last build; gives the options that name it. */
function writeSources(schemas: Readonly<Record<string, object>>, texts = diagrams): string[] {
  const folder = mkdtempSync(join(scratch, 'sources-'));
  for (const [name, schema] of Object.entries(schemas))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(schema));
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, `${name}.mmd`), text);
  return ['--schemas', folder, '--diagrams', folder];
}

/** Copies of the pages; gives the options that name them. */
function copyPages(): { configuration: string; charts: string; options: string[] } {
  const folder = mkdtempSync(join(scratch, 'pages-'));
  const configuration = join(folder, 'configuration.md');
  const triggers = join(folder, 'triggers.md');
  const [agents, fleets, flows] = ['agents', 'fleets', 'flows'].map((name) => {
    const page = join(folder, `${name}.md`);
    cpSync(join(root, `docs/${name}.md`), page);
    return page;
  }) as [string, string, string];
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

describe('the tables in docs/configuration.md and docs/triggers.md, and the diagrams in docs/state-charts.md', () => {
  test('are what schemas and machines say', () => {
    expect(runScript(['--check', ...writeSources(jsonSchemas)])).toEqual({ code: 0, stderr: '' });
  });

  test('are out of date when a field changes, and are rewritten', () => {
    const { configuration, options } = copyPages();
    const changed = JSON.stringify(jsonSchemas.gateway).replace('"default":"info"', '"default":"warn"');
    const where = [...writeSources({ ...jsonSchemas, gateway: JSON.parse(changed) }), ...options];
    expect(runScript(['--check', ...where])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/configuration\.md is out of date/),
    });
    expect(runScript(where).code).toBe(0);
    expect(readFileSync(configuration, 'utf8')).toMatch(/^\| `log_level` \|.*\| `"warn"` \|/m);
    expect(runScript(['--check', ...where]).code).toBe(0);
  });

  test('are out of date when a machine changes, and are redrawn', () => {
    const { charts, options } = copyPages();
    const changed = `${diagrams.server}  stopped --> failed: misfortune\n`;
    const where = [...writeSources(jsonSchemas, { ...diagrams, server: changed }), ...options];
    expect(runScript(['--check', ...where])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/state-charts\.md is out of date/),
    });
    expect(runScript(where).code).toBe(0);
    expect(readFileSync(charts, 'utf8')).toContain(`\`\`\`mermaid\n${changed}\`\`\``);
    expect(runScript(['--check', ...where]).code).toBe(0);
  });
});

test('every error code of the gateway is explained in docs/http-api.md', () => {
  const page = read('docs/http-api.md');
  const codes = sources('actors').flatMap((text) =>
    [...text.matchAll(/code = '(ERR_\w+)'/g)].map(([, code]) => code),
  );
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});

test('every fixed log message is explained in docs/operating.md', () => {
  const page = read('docs/operating.md');
  const messages = [...sources('actors'), ...sources('src')].flatMap(logMessages);
  expect(messages).toContain('gateway is ready');
  expect(messages).toContain('server parked after too many failures');
  expect(messages.filter((message) => !page.includes(message))).toEqual([]);
});

const pages = ['.', 'docs', 'docs/sources', 'docs/tool-servers'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

test('every type of trigger has a page', () => {
  expect(pages).toEqual(
    expect.arrayContaining(typeNames.map((name) => `docs/sources/${name.toLowerCase()}.md`)),
  );
});

test('deliveries can be asked for by every source, as the page and the help of the command say', () => {
  const sources = [...typeNames, 'outbox'];
  const row = read('docs/http-api.md').match(/^\| `source` \|.*$/m)?.[0];
  const command = new Command();
  declareFilter(command);
  const help = command.helpInformation();
  for (const word of sources.map((name) => name.toLowerCase())) {
    expect(row).toContain(`\`${word}\``);
    expect(help).toContain(word);
  }
});

test.each(pages)('%s links only to files and sections that are there', (page) => {
  for (const [, target = '', anchor] of read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
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

test('there are examples for remote servers, for the file of a desktop client, for triggers, for agents with a model, and for fleets and flows', () => {
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

function checked(name: string, more: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, ...variables, ...more };
  const main = join(resolve(root, process.env.ACTOR_GATEWAY_DIST ?? 'dist'), 'main.js');
  const args = [main, '--config', join(root, name), '--check', '--json'];
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  return { status, ...(JSON.parse(stdout) as { readonly triggers?: readonly string[] }) };
}

test.each(['gateway.yaml', ...examples.map((name) => `examples/${name}`)])(
  '--check finds %s good',
  (name) => {
    expect(checked(name)).toMatchObject({ status: 0, ok: true, problems: [] });
  },
);

test('the example of the chats has a folder for each of them, as its comment names them', () => {
  const name = 'examples/chat-automation.yaml';
  const named = [...readFileSync(join(root, name), 'utf8').matchAll(/([a-z-]+) \((\w+)\)/g)];
  const types = typeNames.filter((type) => triggerTypes[type].isChat);
  expect(['BotMessenger', ...named.map(([, , type]) => type)].sort()).toEqual([...types].sort());
  for (const [, folder = ''] of named) {
    expect(
      readFileSync(
        join(root, 'examples', folder, readdirSync(join(root, 'examples', folder))[0] ?? ''),
        'utf8',
      ),
    ).toContain(`CHAT=${folder} `);
    const found = checked(name, { CHAT: folder });
    expect(found).toMatchObject({ status: 0, problems: [] });
    expect(found.triggers).toHaveLength(1);
  }
});

test.each(['ARCHITECTURE.md', 'docs/internals.md'])('each source path in %s exists', (page) => {
  const rooms = ['', ...readdirSync(join(root, 'actors')).map((room) => `actors/${room}/`)];
  const paths = [...read(page).matchAll(/(?<![\w./])[a-z][\w-]*\/[\w./-]*\.ts\b/g)].map(([path]) => path);
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.filter((path) => !rooms.some((room) => existsSync(join(root, room, path))))).toEqual([]);
});

function sources(room: string): string[] {
  return readdirSync(join(root, room), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(join(room, name)));
}

/** The last argument of each call of a log method, where it is a text that is always the same. */
function logMessages(text: string): string[] {
  return [...text.matchAll(/\blog\.(?:fatal|error|warn|info|debug|trace)\(/g)].flatMap(
    ({ index, 0: start }) => {
      const call = text.slice(index + start.length, endOfCall(text, index + start.length)).trim();
      const match = /(?:'([^'\n]*)'|"([^"\n]*)"),?$/.exec(call);
      return match?.[1] ?? match?.[2] ?? [];
    },
  );
}

function endOfCall(text: string, from: number): number {
  let depth = 1;
  let at = from;
  for (; at < text.length && depth > 0; at += 1) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
  }
  return at - 1;
}

/** How a heading becomes an anchor on the usual code hosts. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-');
}
